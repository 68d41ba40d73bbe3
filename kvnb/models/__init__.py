"""Language models in files: what lies at a path, checked before it is read, and what a conversation is to it.

Must not know: the pool, its memory, the journal, the user. Only the module that computes imports torch; this one does not.
"""
