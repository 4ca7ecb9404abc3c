"""The max-margin solver beside liblinear, and alone where several tokens may follow."""

import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

from el_jax.linear_ntp import (
    NTPProblem,
    check_separability,
    facet_problem,
    max_margin,
    random_problem,
)
from el_jax.linear_ntp.theory.norms import logit_margin
from experiments.bench.paired import (
    Benchmark,
    Case,
    NotMeasuredError,
    Values,
    compare,
    seconds_of,
)

VERDICT_FROM = 5_000  # tokens; below, the max margin itself is found


def measure(case: Case, rounds: int) -> Values:
    """Seconds to a gap of 1e-10, liblinear's time as a multiple; or CPU seconds to a verdict.

    Liblinear solves problems with one next token a context, to a margin a little below ours.

    Raises:
        NotMeasuredError: scikit-learn, which has liblinear, is not installed.
    """
    # tokens of one class share their contexts; without classes supports are random
    problem = (facet_problem if "num_classes" in case else random_problem)(**case)
    if case["vocab_size"] >= VERDICT_FROM:
        start = time.process_time()
        verdict = check_separability(problem)
        seconds = time.process_time() - start
        return {"verdict, CPU s": seconds, "separable": float(bool(verdict.holds))}
    start = time.perf_counter()
    solved = max_margin(problem)
    first = time.perf_counter() - start
    values: Values = {"ours, compilation included, s": first, "ours, duality gap": solved.gap}
    if case.get("support_size") != 1:
        return values
    fit = _liblinear(problem)
    timed = compare(seconds_of(partial(max_margin, problem)), seconds_of(fit), rounds)
    w = fit()
    theirs = float(logit_margin(w @ problem.embeddings, problem.support).margin.min())
    return values | {
        "liblinear / ours": timed.ratios,
        "ours, s": timed.first_seconds,
        "liblinear's margin below ours, relative": 1
        - theirs / float(np.linalg.norm(w)) / solved.margin,
    }


def _liblinear(problem: NTPProblem) -> Callable[[], np.ndarray]:
    """W by liblinear's Crammer-Singer machine, whose large C asks for a hard margin."""
    try:
        from sklearn.svm import LinearSVC
    except ImportError as error:
        raise NotMeasuredError("scikit-learn is not installed") from error
    labels = problem.support.argmax(axis=0)

    def fit() -> np.ndarray:
        options = {"tol": 1e-4, "max_iter": 100_000, "fit_intercept": False, "random_state": 0}
        machine = LinearSVC(multi_class="crammer_singer", C=1e6, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that Crammer-Singer will leave scikit-learn
            machine.fit(problem.embeddings.T, labels)
        w = np.zeros((problem.vocab_size, problem.dim))
        w[machine.classes_] = machine.coef_
        return w

    return fit


def _size(V: int, d: int, m: int, **kind: int) -> dict[str, int]:
    return {"vocab_size": V, "dim": d, "num_contexts": m, **kind}


_LARGE = {
    "V=1000, d=256, m=500, S=4": _size(1000, 256, 500, support_size=4),
    "V=1000, d=256, m=500, 20 classes of tokens": _size(1000, 256, 500, num_classes=20),
    "V=5000, d=256, m=2000, S=4": _size(5000, 256, 2000, support_size=4),
    "V=5000, d=256, m=2000, 20 classes of tokens": _size(5000, 256, 2000, num_classes=20),
}
_BESIDE = {
    "V=60, d=60, m=50, S=1": _size(60, 60, 50, support_size=1),
    "V=200, d=200, m=200, S=1": _size(200, 200, 200, support_size=1),
    "V=200, d=200, m=2000, S=1": _size(200, 200, 2000, support_size=1),
}
_TINY = {"tiny": _size(6, 8, 6, support_size=1), "classes": _size(6, 8, 6, num_classes=2)}
BENCHMARK = Benchmark(
    measure,
    {
        "smoke": (_TINY, 1),
        "cpu": ({**_BESIDE, **_LARGE}, 9),
        "gpu": (_LARGE, 1),
    },
    one_core=True,
)
