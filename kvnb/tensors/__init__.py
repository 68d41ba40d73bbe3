"""The worker: it owns the memory. K and V in one paged tensor, block tables, paged attention, a small model, proofs.

Must not know: the journal, the user, notebooks, policies. Only the modules that compute import torch; this one does not.
"""
