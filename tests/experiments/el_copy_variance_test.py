"""The analysis of variance against a library and a simulation; claims, names and the figure."""

import numpy as np
import pytest
import scipy.stats

from experiments.el_copy_variance import claims, plot, run, settings
from experiments.el_copy_variance.parts import parts
from experiments.harness.claims import Verdict, with_holm
from experiments.harness.studies import by_seed
from experiments.harness.sweep import setting_name
from experiments.harness.tables import write_results
from tests.experiments.toys import results_of

N = settings.SEEDS_PER_DATA


def drawn(between, within, num=8, seed=0):
    rng = np.random.default_rng(seed)
    groups = 0.5 + between * rng.normal(size=(num, 1)) + within * rng.normal(size=(num, N))
    return results_of({(s, settings.HARD): groups.ravel() for s in settings.SETTINGS}), groups


def test_the_ratio_is_that_of_the_library():
    results, groups = drawn(0.2, 0.1)
    found = parts(results, settings.CE, settings.HARD)
    ratio, p = scipy.stats.f_oneway(*groups)
    assert found.share == pytest.approx((ratio - 1) / (ratio + N - 1))
    assert found.p == pytest.approx(2 * p)
    pooled = np.sqrt(groups.var(axis=1, ddof=1).mean())
    assert found.within == pytest.approx(pooled)
    assert found.between == pytest.approx(np.sqrt(groups.mean(1).var(ddof=1) - pooled**2 / N))


def test_the_interval_covers_the_share():
    true = 0.2**2 / (0.2**2 + 0.1**2)
    covered = []
    for seed in range(400):
        found = parts(drawn(0.2, 0.1, seed=seed)[0], settings.CE, settings.HARD)
        covered.append(found.low <= true <= found.high)
    assert 0.92 <= np.mean(covered) <= 0.98


def test_what_cannot_be_split_is_not_measured():
    assert parts(drawn(0.1, 0.1, num=1)[0], settings.CE, settings.HARD) is None
    constant = results_of({(settings.CE, settings.HARD): np.ones(2 * N)})
    assert parts(constant, settings.CE, settings.HARD) is None
    assert all(c.detail.startswith("not measured") for c in claims.claims(constant))


@pytest.mark.parametrize(
    ("sizes", "verdicts"),
    [
        ((0.3, 0.01), (Verdict.HOLDS, Verdict.FAILS)),
        ((0.02, 0.3), (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)),
    ],
)
def test_claims_are_judged_by_the_share(sizes, verdicts):
    found = with_holm(claims.claims(drawn(*sizes)[0]))
    assert [claim.verdict for claim in found] == [*verdicts] * len(settings.SETTINGS)


def test_networks_share_data_sets_and_have_the_names_of_the_settings():
    named, data = set(), {}
    for study in run.studies("cpu"):
        for part in by_seed(study):
            data.setdefault(part.task.data_seed, set()).add(part.seed)
            warm_ups = part.sweep.optim.warmup_steps
            numbers = [{"warmup_steps": w, "lam": 4.0} for w in warm_ups]
            named |= {setting_name(part, number) for number in numbers}
    assert named == set(settings.SETTINGS)
    assert all(len(seeds) == N for seeds in data.values())
    assert len(data) == run.DATA_SETS["cpu"]


def test_the_title_has_the_numbers_of_the_table(tmp_path):
    results, _ = drawn(0.2, 0.1)
    write_results(tmp_path / "results.csv", results)
    found = parts(results, settings.CE, settings.HARD)
    shown = [f"{value:.2f}".removeprefix("0") for value in (found.between, found.within)]
    title = plot.plot(tmp_path).get_suptitle()
    assert f"cross-entropy: {shown[0]} and {shown[1]}" in title
