"""The trainings of every scale; claims and figure."""

import numpy as np
import pytest

from el_jax import build
from experiments.flat_adversarial import claims, plot, run, settings
from experiments.harness.claims import Verdict, with_holm
from experiments.harness.tables import write_results
from tests.experiments.toys import results_of


@pytest.mark.parametrize("scale", ["smoke", "cpu", "paper"])
def test_the_trainings_of_every_scale_are_such_that_can_be_run(scale):
    for study in run.studies(scale):
        parsed = build.parse(study.config)
        attacked, _ = parsed.task.downstream
        if parsed.adversary is not None:
            assert parsed.adversary.label == attacked
        assert study.names[f"downstream_{attacked}"] == settings.ATTACKED
    weights = {s.config.adversary.weight for s in run.studies(scale) if "adversary" in s.config}
    assert weights == set(settings.WEIGHTS[1:2] if scale == "smoke" else settings.WEIGHTS[1:])


def table(*, worse, sharper, kl):
    rng = np.random.default_rng(0)
    values = {}
    for world in settings.WORLDS:
        for weight in settings.WEIGHTS:
            i = weight / settings.CHOSEN[world]
            name = settings.named(world, weight)

            def near(mean):
                return mean + 1e-4 * rng.normal(size=6)

            values[name, "kl"] = near(0.01 + kl * i)
            values[name, settings.ATTACKED] = near(0.8 - worse * i)
            values[name, settings.OTHER] = near(0.8 - worse * i)
            values[name, f"{settings.ATTACKED}_{settings.LOOKUP}"] = near(0.8 - worse)
            for trace in settings.TRACES:
                values[name, trace] = near(8 + sharper * i)
    return results_of(values)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"worse": 0.05, "sharper": 2, "kl": 0.001}, Verdict.HOLDS),
        ({"worse": -0.05, "sharper": -2, "kl": 0.02}, Verdict.FAILS),
        ({"worse": 0.0, "sharper": 0, "kl": settings.EQUAL}, Verdict.INCONCLUSIVE),
    ],
)
def test_claims_are_judged_by_differences(changes, verdict):
    found = with_holm(claims.claims(table(**changes)))
    assert len(found) == 2 * 7
    assert {claim.verdict for claim in found} == {verdict}


def test_claims_on_nothing_say_that_it_was_not_measured():
    found = claims.claims(table(worse=0, sharper=0, kl=0).iloc[:0])
    assert all(claim.detail.startswith("not measured") for claim in found)


def test_the_title_has_the_numbers_of_the_table(tmp_path):
    write_results(tmp_path / "results.csv", table(worse=0.05, sharper=2, kl=0.001))
    title = plot.plot(tmp_path).get_suptitle()
    assert title.count("KL .010 to .011, probe .80 to .75, trace × 1.25") == 2
