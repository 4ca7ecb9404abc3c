"""A test that code for curvature must pass, in JAX or PyTorch.

    python -m el_jax.curvature.conformance my_package:product

``product(problem)`` returns a function from a direction to the product of a matrix with it, both
dicts of NumPy arrays with the names and shapes of ``problem.params``. The matrix is the Hessian or
the Gauss-Newton matrix (``problem.matrix``) of the mean cross entropy over all supervised positions
of all ``problem.batches``; ``problem.logits(params, tokens)`` and ``problem.loss(params, batch)``
compute with arrays of JAX or of PyTorch. ``ours.py`` is an example. A tool that has no such matrix
raises ``NotImplementedError``.

Some eighty small problems have known answers: networks with normalisation, attention, tied and
repeated weights, uneven batches, labels that are ignored, and three precisions. Two further
functions are judged if they are given:

``--eigenvalues=my_package:top``: ``top(problem, num)``, the largest eigenvalues.
``--trace=my_package:trace``: ``trace(problem, seed)``, an estimate, the standard error of its
probes and, if it has one, that of probes and examples together.
"""

from el_jax.curvature.conformance.laws import Verdict, judge
from el_jax.curvature.conformance.problems import IGNORED, PROBLEMS, Batch, Problem
from el_jax.curvature.conformance.report import report

__all__ = ["IGNORED", "PROBLEMS", "Batch", "Problem", "Verdict", "judge", "report"]
