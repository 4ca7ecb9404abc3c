"""The optimizer of two phases, changes after saturation on courses by hand, claims and figure."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from el_jax import build
from el_jax.training.sinks import History
from experiments.flat_time import claims, phases, plot, run, settings
from experiments.harness.claims import Verdict, with_holm
from experiments.harness.studies import Study, by_seed
from experiments.harness.tables import write_curves, write_results
from tests.experiments.toys import curves_of, results_of

RATE = 0.1


def course(optimizer, num_updates=6):
    """Parameters of f(w, b) = |w|² / 2 + |b - 1|² / 2 after each update."""
    params = {"w": jnp.array([[1.0, -2.0]]), "b": jnp.array([3.0])}
    state, seen = optimizer.init(params), []
    for _ in range(num_updates):
        grads = {"w": params["w"], "b": params["b"] - 1}
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        seen.append(np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(params)]))
    return np.array(seen)


def two_phases(**numbers):
    defaults = {"saturate": 4, "adamw_after": 0.0, "sgd_after": 0.0}
    return phases.adamw_then(lambda step: RATE, **defaults | numbers)


def test_the_first_phase_is_adamw_at_a_rate_that_falls_to_0():
    def falling(step):
        return RATE * jnp.maximum(1 - step / 4, 0.0)

    mask = {"w": True, "b": False}
    adamw = optax.adamw(falling, b1=0.9, b2=0.98, eps=1e-6, weight_decay=0.01, mask=mask)
    np.testing.assert_allclose(course(two_phases()), course(adamw), rtol=1e-5)


def test_the_second_phase_is_plain_gradient_descent():
    seen = course(two_phases(sgd_after=0.5))
    for before, after in itertools.pairwise(seen[3:]):
        np.testing.assert_allclose(after, before - RATE * 0.5 * (before - [1, 0, 0]), rtol=1e-5)


def test_or_adamw_with_the_moments_it_had():
    kept = course(two_phases(adamw_after=0.3))

    def broken(step):
        return RATE * jnp.where(step < 4, 1 - step / 4, 0.3)

    mask = {"w": True, "b": False}
    adamw = optax.adamw(broken, b1=0.9, b2=0.98, eps=1e-6, weight_decay=0.01, mask=mask)
    np.testing.assert_allclose(kept, course(adamw), rtol=1e-5)


def test_changes_are_counted_from_saturation_to_the_end():
    history, kl = History(), np.array([[1.0, 0.5], [0.05, 0.08], [0.06, 0.07], [0.055, 0.09]])
    for i, row in enumerate(kl):
        values = {metric: np.array([2.0**i, 3.0**i]) for metric in settings.WATCHED}
        history.write(100 * (i + 1), values | {"kl": row})
    found = run.numbers(history, saturated=1)
    np.testing.assert_array_equal(found["saturated_step"], [200, 200])
    np.testing.assert_array_equal(found["kl_at_saturation"], [0.05, 0.08])
    np.testing.assert_allclose(found["kl_moved"], [0.005, 0.01])
    np.testing.assert_allclose(found["accuracy_2_since_saturation"], [8 - 2, 27 - 3])
    expected = [np.log(4), np.log(9)]
    np.testing.assert_allclose(found["fisher_trace_since_saturation"], expected)


@pytest.mark.parametrize("scale", ["smoke", "cpu", "paper"])
def test_the_trainings_of_every_scale_are_such_that_can_be_run(scale):
    studies = run.studies(scale)
    assert len(studies) == 6
    for study in studies:
        parsed = build.parse(study.config)
        assert {*parsed.train.probes} == {"true_conditional", "curvature", "downstream"}
        assert len(study.names) == 2
        config = study.config
        looks = config.train.num_updates / config.train.eval_every
        assert looks == run.LOOKS[scale]
        assert config.optim.saturate == run.SATURATED_AT[scale] * config.train.eval_every
        (rate,) = run.AFTER[study.suffix.split(", ")[-1]].values()
        after = config.optim.adamw_after + config.optim.sgd_after
        assert after * config.optim.peak_lr == pytest.approx(rate)


def test_every_seed_has_a_world_of_its_own():
    (study, *_) = run.studies("smoke")
    parts = by_seed(study)
    assert [part.task.world.seed for part in parts] == [0, 1]
    assert [part.task.data_seed for part in parts] == [0, 1]
    shared = by_seed(Study(study.config, seeds_per_data=2))
    assert [part.task.world.seed for part in shared] == [0, 0]


def table(*, gain, fall, kl, moved, power):
    """The trace falls by the given power of the rate."""
    rng = np.random.default_rng(0)
    values = {}
    for world in settings.WORLDS:
        for way in settings.AFTERWARDS:
            name = settings.named(world, way)

            def near(mean):
                return mean + 1e-4 * rng.normal(size=8)

            share = 5.0**-power if way == settings.SLOW else 1.0
            values[name, settings.KL_AT_SATURATION] = near(kl)
            values[name, settings.KL_MOVED] = near(moved)
            values[name, settings.SATURATED_STEP] = near(3000)
            for metric in settings.ACCURACIES:
                values[name, settings.since(metric)] = near(gain)
            for metric in settings.TRACES:
                values[name, settings.since(metric)] = near(share * fall)
    return results_of(values)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"gain": 0.02, "fall": -0.3, "kl": 0.006, "moved": 0.002, "power": 2}, Verdict.HOLDS),
        ({"gain": -0.02, "fall": 0.3, "kl": 0.05, "moved": 0.1, "power": 2}, Verdict.FAILS),
        ({"gain": 0.0, "fall": 0.0, "kl": 0.01, "moved": 0.01, "power": 1}, Verdict.INCONCLUSIVE),
    ],
)
def test_claims_are_judged_by_the_signs_of_the_changes(changes, verdict):
    found = with_holm(claims.claims(table(**changes)))
    assert len(found) == 2 * (1 + 3 * 5 + 2 * 2)
    assert {claim.verdict for claim in found} == {verdict}


@pytest.mark.parametrize(("power", "verdict"), [(0.5, Verdict.FAILS), (1.5, Verdict.HOLDS)])
def test_noise_is_told_from_descent_by_the_power_of_the_rate(power, verdict):
    changes = {"gain": 0.02, "fall": -0.3, "kl": 0.006, "moved": 0.002, "power": power}
    found = [c for c in with_holm(claims.claims(table(**changes))) if "5 times as much" in c.text]
    assert [claim.verdict for claim in found] == [verdict] * 4


def test_the_title_has_the_numbers_of_the_table(tmp_path):
    results = table(gain=0.02, fall=np.log(0.8), kl=0.006, moved=0.002, power=2)
    write_results(tmp_path / "results.csv", results)
    steps = np.array([100, 1000, 3000, 9000])
    marks = np.array([[1.0, 0.5, 0.3, 0.2], [1.1, 0.5, 0.3, 0.2]])
    names = [settings.named(w, way) for w in settings.WORLDS for way in settings.AFTERWARDS]
    curves = curves_of({(name, m): (steps, marks) for name in names for m in settings.WATCHED})
    write_curves(tmp_path / "curves.csv", curves)
    title = plot.plot(tmp_path).get_suptitle()
    assert title.count("+2.0 points (× .80)") == 4
    assert title.count("slow SGD +2.0 points (× .99)") == 2


def test_curves_are_drawn_from_what_each_seed_was_at_saturation():
    name = settings.named("hmm", settings.SGD)
    steps = np.array([100, 200, 300])
    curves = curves_of(
        {
            (name, "kl"): (steps, np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])),
            (name, "accuracy_1"): (steps, np.array([[0.1, 0.2, 0.25], [0.5, 0.6, 0.58]])),
            (name, "fisher_trace"): (steps, np.array([[8.0, 4.0, 2.0], [9.0, 3.0, 9.0]])),
        }
    )
    results = results_of({(name, settings.SATURATED_STEP): np.array([200.0, 200.0])})
    found = plot.since_saturation(results, curves).pivot(
        index=["metric", "seed"], columns="step", values="value"
    )
    np.testing.assert_allclose(found.loc["kl"], [[3, 2, 1]] * 2)
    np.testing.assert_allclose(found.loc["accuracy_1"], [[-10, 0, 5], [-10, 0, -2]])
    expected = np.log([[2, 1, 0.5], [3, 1, 3]])
    np.testing.assert_allclose(found.loc["fisher_trace"], expected, atol=1e-12)
