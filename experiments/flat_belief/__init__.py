"""Is the belief state linear in hidden states, also under losses that bound margins?

Shai et al. 2024 (arXiv 2405.15943), whose processes are Mess3 and RRXOR.
"""

ONLY = "world"
"""The factor by whose levels ``--only`` chooses."""
