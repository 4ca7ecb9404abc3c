"""Invalid inputs are refused in one line that names them; odd but valid ones are answered."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from el_jax.linear_ntp import (
    DIRECTIONS,
    NTPProblem,
    analyze,
    excess_loss,
    gradient_flow,
    leaked_mass,
    margin_upper_bound,
    random_problem,
    run_trajectory,
    top_curvature,
)

NAMES = ", ".join(DIRECTIONS)
# These calls run in another process, since this one checks the types of arguments.
CALLS = {
    "ntp.NTPProblem(1j * p.embeddings, [1 / 3] * 3, P)": "embeddings is complex: must be real",
    "p.decoder(P)": "W has shape (4, 3): must be [V, d] = (4, 4)",
    "ntp.random_problem(3, -3, 4, 2)": "dim=-3: must be at least 1",
    "ntp.random_problem(3, 2, 5, 0)": "support_size=0: must be at least 1 and below vocab_size=5",
    "ntp.random_problem(3, 2, 5, 5)": "support_size=5: must be at least 1 and below vocab_size=5",
    "ntp.random_problem(3, 4, 8, 5, concentration=0.001)": "concentration=0.001: must be larger",
    "ntp.random_problem(3, 4, 8, 5, concentration=-1.0)": "concentration=-1.0: must be positive",
    "ntp.teacher_problem(3, 4, 8, 5, scale=3000.0)": "largest logit=",
    "ntp.antipodal_problem(ratio=-2.0)": "ratio=-2.0: must be positive",
    "ntp.orthonormal_problem(5, 4, 6, 3)": "dim=4: must be at least num_contexts=5",
    "ntp.facet_problem(20, 3, 7, 8)": "num_contexts=20, dim=3, vocab_size=7, num_classes=8, sp",
    "ntp.from_tokens([0, 1, -1, 2], 1, embed=embed)": "tokens hold -1: must be at least 0",
    "ntp.from_tokens([0.0, 1.5, 2.0], 1, embed=embed)": "tokens are float64: must be integers",
    "ntp.from_tokens([0, 1, 2, 1], 1, embed=embed, vocab_limit=-1)": "vocab_limit=-1: must be at",
    "ntp.from_tokens([0, 1, 5, 2], 1, embed=ntp.bag_of_tokens(3))": "vocab_size=3: must be above "
    "the largest token, 5",
    "ntp.from_tokens([0, 1, 5, 2], 1, embed=ntp.one_hot_positions(3))": "vocab_size=3: must be",
    "ntp.from_tokens([0, 1, 2], 3, embed=embed)": "context_length=3: must be at least 1 and below",
    "ntp.from_tokens([0, 1, 2], 1, embed=embed, min_count=9)": "tokens of shape (1, 3) have no "
    "context of length 1 that occurs 9 times",
    "ntp.from_tokens([0, 1, 2], 1, embed=lambda contexts: W)": "embed gave (4, 4): must be [d, 2]",
    "ntp.check_separability(p, max_iterations=0)": "max_iterations=0: must be at least 1",
    "ntp.max_margin(p, max_iterations=0)": "max_iterations=0: must be at least 1",
    "ntp.max_margin(p, 'taxicab')": "norm='taxicab' must be",
    "ntp.max_margin(p, tolerance=5)": "tolerance=5: must be between 0 and 1",
    "ntp.max_margin(p, tolerance=math.nan)": "tolerance=nan: must be between 0 and 1",
    "ntp.max_margin(P)": "problem is ndarray: must be an NTPProblem",
    "ntp.check_separability(P)": "problem is ndarray: must be an NTPProblem",
    "ntp.check_compatibility(P)": "problem is ndarray: must be an NTPProblem",
    "ntp.Adam(beta1=1.5)": "beta1=1.5: must be at least 0 and below 1",
    "ntp.graph_svm(pair, 'spectral')": "norm='spectral': must be 'frobenius' or 'max'",
    "ntp.margin_upper_bound(p, W, norm='taxicab')": "norm='taxicab' must be",
    "ntp.verify_certificate(p, [1, 2])": "certificate is list: must be SeparatingMatrix",
    "ntp.verify_certificate(p, ntp.SeparatingMatrix(P))": "w has shape (4, 3): must be (4, 4)",
    "ntp.verify_certificate(p, ntp.FarkasMatrix(W))": "b has shape (4, 4): must be (4, 3)",
    "ntp.analyze(p.embeddings)": "problem is ndarray: must be an NTPProblem",
    "ntp.analyze(p, norms='maximal')": "norm='maximal' must be",
    "ntp.decoder_metrics(p, W, w_mm=W)": "w_mm is ndarray: must map norms to matrices",
    "ntp.decoder_metrics(p, W, w_mm={'taxicab': W})": "norm='taxicab' must be",
    "ntp.fit_rate(W[0], W[0], window=(2.0, 3.0))": "0 points with x in [2, 3]: must be at least 2",
    "ntp.fit_rate(W[0], W[0, 1:], window=(0.0, 2.0))": "x (4,) and y (3,): must be vectors of one",
    "ntp.gradient_flow(p, [])": "times=[]: must increase from at least 0, and be finite",
    "ntp.gradient_flow(p, [2.0, 1.0])": "times=[2.0, 1.0]: must increase from at least 0",
    "ntp.gradient_flow(p, [-1.0])": "times=[-1.0]: must increase from at least 0",
    "ntp.gradient_flow(p, [1.0, math.inf])": "times=[1.0, inf]: must increase from at least 0",
    "ntp.gradient_flow(p, [1.0], rtol=5.0)": "rtol=5.0: must be between 0 and 1",
    "ntp.gradient_flow(P, [1.0])": "problem is ndarray: must be an NTPProblem",
    "ntp.run_trajectory(P, 'gd', 0.1, 5)": "problem is ndarray: must be an NTPProblem",
    "ntp.run_trajectory(p, ntp.Adam, 0.1, 5)": "method=<class 'el_jax.linear_ntp.",
    "ntp.run_trajectory(p, 'adamw', 0.1, 5)": f"method='adamw': must be one of {NAMES}, or a "
    'Direction such as Adam(); AdamW is "adam" with weight_decay=',
    "ntp.run_trajectory(p, 'gd', -0.1, 5)": "step_size=-0.1: must be positive",
    "ntp.run_trajectory(p, 'gd', math.nan, 5)": "step_size=nan: must be positive",
    "ntp.run_trajectory(p, 'gd', math.inf, 5)": "step_size=inf: must be positive and finite",
    "ntp.run_trajectory(p, 'gd', 0.1, 5, decay=-2)": "decay=-2: must be at least 0 and finite",
    "ntp.run_trajectory(p, 'gd', 0.1, 5, decay=math.nan)": "decay=nan: must be at least 0",
    "ntp.run_trajectory(p, 'gd', 0.1, 5, weight_decay=math.inf)": "weight_decay=inf: must be",
    "ntp.run_trajectory(p, 'gd', 0.1, 0)": "num_steps=0: must be at least 1",
    "ntp.run_trajectory(p, 'gd', 0.1, 5, initial=P)": "W has shape (4, 3): must be [V, d] = (4, 4)",
    "ntp.run_trajectory(p, 'gd', 0.1, 5, marks=[3, 2])": "marks=[3, 2]: must increase from at",
    "ntp.run_trajectory(p, 'gd', 0.1, 5, marks=[-1, 2])": "marks=[-1, 2]: must increase from at",
    "ntp.run_trajectory(p, 'gd', 0.1, 5, marks=[6])": "marks=[6]: must increase from at least 0 to",
    "ntp.run_trajectory(p, 'gd', 0.1, 5, w_mm=ntp.max_margin(p))": "w_mm is MaxMargin: must map",
    "ntp.run_trajectory(p, 'gd', 0.1, 5, batch=-1)": "batch=-1: must be at least 0",
    "ntp.run_trajectory(p, 'polyak', 0.1, 5, batch=2)": "batch=2: must be 0 for 'polyak', which",
}
PROGRAM = """
import math, sys
import numpy as np
from el_jax import linear_ntp as ntp
p = ntp.random_problem(3, 4, 4, 2)
pair = ntp.AttentionProblem(np.eye(2), np.array([[1, 0]]), np.array([1]))
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
