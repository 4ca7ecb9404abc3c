"""Next-token prediction with a linear decoder on frozen embeddings, in float64.

``problem.py`` says what is trained on and fixes the letters.
"""

from el_jax.linear_ntp.problem import NTPProblem, coinciding_contexts, merge_contexts

__all__ = ["NTPProblem", "coinciding_contexts", "merge_contexts"]
