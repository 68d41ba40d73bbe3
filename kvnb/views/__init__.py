"""Pictures and sentences: a state or a step as text and as static HTML.

Must not know: the live pool. Everything here reads steps, states and settings only, so that a running pool, a
loaded journal and a past step are drawn alike.
"""
