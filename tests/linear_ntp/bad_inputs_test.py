"""Invalid inputs are refused in one line that names them; odd but valid ones are answered."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from exact_oracle import problem_of

from el_jax.linear_ntp import (
    DIRECTIONS,
    NTPProblem,
    analyze,
    check_compatibility,
    check_separability,
    excess_loss,
    gradient_flow,
    leaked_mass,
    margin_upper_bound,
    max_margin,
    random_problem,
    run_trajectory,
    top_curvature,
)

NAMES = ", ".join(DIRECTIONS)
# These calls run in another process, since this one checks the types of arguments.
CALLS = {
    "ntp.margin_upper_bound(p, W, norm='taxicab')": "norm='taxicab' must be",
    "ntp.max_margin(p, 'taxicab')": "norm='taxicab' must be",
    "ntp.check_separability(p, max_iterations=0)": "max_iterations=0: must be at least 1",
    "ntp.check_separability(p, max_iterations=-1)": "max_iterations=-1: must be at least 1",
    "ntp.max_margin(p, max_iterations=0)": "max_iterations=0: must be at least 1",
    "ntp.max_margin(p, 'spectral', max_iterations=-1)": "max_iterations=-1: must be at least 1",
    "ntp.decoder_metrics(p, W, w_mm=W)": "w_mm is ndarray: must map norms to matrices",
    "ntp.run_trajectory(p, 'gd', 0.1, 5, w_mm=ntp.max_margin(p))": "w_mm is MaxMargin: must map",
    "ntp.gradient_flow(p, [math.nan])": "times=[nan]: must increase from at least 0, and",
    "ntp.gradient_flow(p, [1.0, math.inf])": "times=[1.0, inf]: must increase from at least 0",
    "ntp.run_trajectory(p, ntp.Adam, 0.1, 5)": "method=<class 'el_jax.linear_ntp.",
    "ntp.run_trajectory(p, 'adamw', 0.1, 5)": f"method='adamw': must be one of {NAMES}, or a "
    'Direction such as Adam(); AdamW is "adam" with weight_decay=',
    "ntp.run_trajectory(p, None, 0.1, 5)": "method=None: must be one of gd, ",
    "ntp.from_tokens([0, 1, -1, 2], 1, embed=embed)": "tokens hold -1: must be at least 0",
    "ntp.from_tokens([0.0, 1.5, 2.0], 1, embed=embed)": "tokens are float64: must be integers",
    "ntp.from_tokens(['a', 'b', 'c'], 1, embed=embed)": "tokens are <U1: must be integers",
    "ntp.NTPProblem(1j * p.embeddings, [1 / 3] * 3, P)": "embeddings is complex: must be real",
    "ntp.verify_certificate(p, [1, 2])": "certificate is list: must be SeparatingMatrix",
    "ntp.analyze(p.embeddings)": "problem is ndarray: must be an NTPProblem",
    "ntp.run_trajectory(P, 'gd', 0.1, 5)": "problem is ndarray: must be an NTPProblem",
    "ntp.run_trajectory(p, 'gd', -0.1, 5)": "step_size=-0.1: must be positive",
    "ntp.run_trajectory(p, 'gd', math.nan, 5)": "step_size=nan: must be positive",
    "ntp.run_trajectory(p, 'gd', 0.1, 0)": "num_steps=0: must be at least 1",
    "ntp.random_problem(3, -3, 4, 2)": "dim=-3: must be at least 1",
    "ntp.analyze(p, norms=('taxicab',))": "norm='taxicab' must be",
    "ntp.analyze(p, norms='maximal')": "norm='maximal' must be",
}
PROGRAM = """
import math, sys
import numpy as np
from el_jax import linear_ntp as ntp
p = ntp.random_problem(3, 4, 4, 2)
P, W, embed = p.next_token_probs, np.ones((4, 4)), lambda contexts: np.ones((2, len(contexts)))
for call in sys.stdin.read().splitlines():
    try:
        eval(call)
    except (ValueError, TypeError) as error:
        print(error)
    else:
        print("accepted")
"""


@pytest.fixture(scope="module")
def said():
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        input="\n".join(CALLS),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(CALLS, process.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_input_is_named(call, said):
    assert said[call].startswith(CALLS[call]), said[call]


def test_a_flow_may_end_where_it_begins():
    flow = gradient_flow(random_problem(3, 4, 4, 2), [0.0])
    np.testing.assert_array_equal(flow.final, 0)
    assert flow.metrics["norm"].tolist() == [0.0]


def test_nan_is_answered_by_nan():
    problem = random_problem(3, 4, 4, 2)
    nothing = np.full((4, 4), np.nan)
    assert np.isnan(excess_loss(problem, nothing)).all()
    assert np.isnan(leaked_mass(problem, nothing))
    assert np.isnan(margin_upper_bound(problem, nothing))


def test_contexts_of_several_tokens_may_have_zero_embeddings():
    probs = np.array([[1 / 3, 0, 0], [1 / 3, 1, 0], [1 / 3, 0, 1]])
    dead = NTPProblem(np.diag([0.0, 1.0, 1.0]), [1 / 3] * 3, probs)
    assert top_curvature(dead) == 0
    analysis = analyze(dead)
    assert analysis.separability.holds is True
    assert analysis.margins["frobenius"].gap < 1e-9
    run = run_trajectory(dead, "gd", 0.5, 10, w_mm=analysis.references)
    flow = gradient_flow(dead, [0.0, 5.0], w_mm=analysis.references)
    for trajectory in (run, flow):
        assert trajectory.metrics["excess_loss"][-1] < trajectory.metrics["excess_loss"][0]


def test_copies_cannot_be_written_to_either():
    problem = random_problem(3, 4, 4, 2)
    assert problem.log_probs.size
    for twin in (copy.deepcopy(problem), copy.copy(problem), pickle.loads(pickle.dumps(problem))):
        np.testing.assert_array_equal(twin.embeddings, problem.embeddings)
        for array in (twin.embeddings, twin.context_probs, twin.next_token_probs, twin.log_probs):
            assert not array.flags.writeable


def test_a_problem_says_its_sizes():
    assert repr(problem_of(np.eye(3), [{0}, {1}, {2, 3}], 5)) == (
        "NTPProblem(3 contexts in 3 dimensions, 5 tokens)"
    )


def test_results_print_what_was_found_and_not_their_arrays():
    problem = problem_of(np.eye(3), [{0}, {1}, {2}], 3)
    for check, name in ((check_separability, "Separability"), (check_compatibility, "Compatib")):
        verdict = check(problem)
        assert repr(verdict).startswith(name)
        assert repr(verdict).endswith(f"(holds=True, reason={verdict.reason!r})")
    solution = max_margin(problem)
    assert repr(solution) == (
        f"MaxMargin(frobenius margin {solution.margin:.6g}, norm of w {1 / solution.margin:.6g}, "
        f"gap {solution.gap:.1e}, {solution.iterations} iterations, w [3, 3])"
    )
    run = run_trajectory(problem, "gd", 0.1, 2_000, marks=[0, 1_234])
    assert repr(run) == (
        f"Trajectory(2 marks, the last at 1234; metrics: {', '.join(run.metrics)}; final [3, 3])"
    )
