"""Questions on the pool, each with a small story: what the right answer is, the pool itself says.

Must not know: sessions, how a question and its answer are typed, the pools of whoever is asked (but to look at one).
"""

from kvnb.quiz.items import Challenge, Item, Question, Task
from kvnb.quiz.judging import Verdict, judge, judge_pool
from kvnb.quiz.questions import ITEMS, find

__all__ = ["ITEMS", "Challenge", "Item", "Question", "Task", "Verdict", "find", "judge", "judge_pool"]
