"""A running vLLM, and what it says: its KV events.

Must not know: how anything is drawn.
"""
