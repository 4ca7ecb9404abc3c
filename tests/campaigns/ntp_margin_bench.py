"""Times max_margin, against cvxpy with Clarabel where that ends: `python -m` this module.

Both solve the same problem in one process, ours first once to compile.
"""

import pathlib
import sys
import time

import numpy as np

from el_jax.linear_ntp.builders import facet_problem, random_problem
from el_jax.linear_ntp.max_margin import max_margin

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "linear_ntp"))

PROBLEMS = {  # name: (problem, whether the oracle is to be waited for)
    "V=10 d=60 m=50 S=4": (lambda: random_problem(50, 60, 10, 4), True),
    "V=60 d=128 m=100 S=4": (lambda: random_problem(100, 128, 60, 4), True),
    "V=500 d=256 m=250 S=4": (lambda: random_problem(250, 256, 500, 4), False),
    "V=1000 d=256 m=500, 20 classes": (lambda: facet_problem(500, 256, 1000, 20), False),
    "V=1000 d=256 m=500 S=4": (lambda: random_problem(500, 256, 1000, 4), False),
}


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def main():
    from svm_oracle import clarabel_max_margin

    print(f"{'problem':32}{'first':>9}{'again':>9}{'clarabel':>10}{'speed-up':>10}  answer")
    for name, (build, with_oracle) in PROBLEMS.items():
        problem = build()
        try:
            found, first = timed(lambda p=problem: max_margin(p))
            answer = f"|W|={1 / found.margin:.6f} gap {found.gap:.0e} kkt {max(found.kkt):.0e}"
            answer += f" {found.iterations} iterations"
        except (ValueError, RuntimeError) as error:
            print(f"{name:32}{error}", flush=True)
            continue
        _, again = timed(lambda p=problem: max_margin(p))
        line = f"{name:32}{first:8.2f}s{again:8.3f}s"
        if with_oracle:
            w, oracle = timed(lambda p=problem: clarabel_max_margin(p))
            error = np.linalg.norm(w - found.w) / np.linalg.norm(found.w)
            line += f"{oracle:9.2f}s{oracle / again:9.0f}x"
            answer += f", clarabel differs by {error:.0e}"
        else:
            line += f"{'-':>10}{'-':>10}"
        print(f"{line}  {answer}", flush=True)


if __name__ == "__main__":
    main()
