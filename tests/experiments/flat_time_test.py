"""Convergence and the changes after it, on courses written by hand; claims and figure."""

import numpy as np
import pytest

from el_jax import build
from el_jax.training.sinks import History
from experiments.flat_time import claims, plot, run, settings
from experiments.harness.claims import Verdict, with_holm
from experiments.harness.studies import Study, by_seed
from experiments.harness.tables import write_curves, write_results
from tests.experiments.toys import curves_of, results_of

# two runs: KL of the second comes back out of the tolerance
KL = np.array([[1.0, 0.1], [0.1, 0.05], [0.058, 0.07], [0.0505, 0.052], [0.05, 0.05]])


def history():
    found = History()
    for i, kl in enumerate(KL):
        row = {metric: np.array([10.0 * i, i * i]) for metric in settings.WATCHED}
        found.write(100 * (i + 1), row | {"kl": kl})
    return found


@pytest.mark.parametrize(("nats", "first"), [(0.01, [2, 3]), (0.001, [3, 4]), (2.0, [0, 0])])
def test_a_run_is_converged_where_it_stays_near_its_end(nats, first):
    np.testing.assert_array_equal(run.converged(KL, nats), first)


def test_changes_are_counted_from_convergence_to_the_end():
    found = run.numbers(history())
    np.testing.assert_array_equal(found["converged_step"], [300, 400])
    np.testing.assert_array_equal(found["strictly_converged_step"], [400, 500])
    np.testing.assert_array_equal(found["fisher_trace_since_converged"], [20, 16 - 9])
    np.testing.assert_array_equal(found["accuracy_2_since_strictly_converged"], [10, 0])
    np.testing.assert_allclose(found["kl_since_converged"], [-0.008, -0.002], atol=1e-9)


@pytest.mark.parametrize("scale", ["smoke", "cpu", "paper"])
def test_the_trainings_of_every_scale_are_such_that_can_be_run(scale):
    studies = run.studies(scale)
    assert len(studies) == 4
    for study in studies:
        parsed = build.parse(study.config)
        assert {*parsed.train.probes} == {"true_conditional", "curvature", "downstream"}
        assert len(study.names) == 2


def test_every_seed_has_a_world_of_its_own():
    (study, *_) = run.studies("smoke")
    parts = by_seed(study)
    assert [part.task.world.seed for part in parts] == [0, 1]
    assert [part.task.data_seed for part in parts] == [0, 1]
    shared = by_seed(Study(study.config, seeds_per_data=2))
    assert [part.task.world.seed for part in shared] == [0, 0]


def table(*, gain, fall, kl):
    rng = np.random.default_rng(0)
    values = {}
    for world in settings.WORLDS:
        for optimizer in settings.OPTIMIZERS:
            name = settings.named(world, optimizer)

            def near(mean):
                return mean + 1e-4 * rng.normal(size=8)

            values[name, "kl"] = near(kl)
            for metric in settings.WATCHED:
                values.setdefault((name, metric), near(0.8))
                for tolerance in settings.TOLERANCES:
                    change = gain if metric.startswith("accuracy") else fall
                    values[name, settings.since(metric, tolerance)] = near(change)
            values[name, settings.converged_step()] = near(3000)
    return results_of(values)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"gain": 0.02, "fall": -0.3, "kl": 0.006}, Verdict.HOLDS),
        ({"gain": -0.02, "fall": 0.3, "kl": 0.05}, Verdict.FAILS),
        ({"gain": 0.0, "fall": 0.0, "kl": 0.01}, Verdict.INCONCLUSIVE),
    ],
)
def test_claims_are_judged_by_the_signs_of_the_changes(changes, verdict):
    found = with_holm(claims.claims(table(**changes)))
    assert len(found) == 4 * 9
    assert {claim.verdict for claim in found} == {verdict}


def test_the_title_has_the_numbers_of_the_table(tmp_path):
    results = table(gain=0.02, fall=-0.2, kl=0.006)
    write_results(tmp_path / "results.csv", results)
    steps = np.array([100, 1000, 3000, 9000])
    course = np.array([[1.0, 0.5, 0.3, 0.2], [1.1, 0.5, 0.3, 0.2]])
    names = [settings.named(w, o) for w in settings.WORLDS for o in settings.OPTIMIZERS]
    curves = curves_of({(name, m): (steps, course) for name in names for m in settings.WATCHED})
    write_curves(tmp_path / "curves.csv", curves)
    title = plot.plot(tmp_path).get_suptitle()
    assert title.count("+2.0 points, trace × .80") == 4
