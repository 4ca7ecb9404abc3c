"""Names of the trainings, the gate before claims, shares of seeds, and the figure."""

import math

import numpy as np
import pytest

from el_jax import build
from el_jax.training.future import FUTURE
from experiments.el_path_star import claims, plot, run, settings
from experiments.harness.claims import Verdict, with_holm
from experiments.harness.sweep import check_names, setting_name
from experiments.harness.tables import write_results
from tests.experiments.toys import results_of

METHODS = (*settings.LOSSES, *settings.CONTROLS)


@pytest.mark.parametrize("scale", ["smoke", "cpu"])
def test_trainings_have_the_names_that_claims_ask_for(scale):
    studies = run.studies(scale)
    check_names(studies)
    names = {
        setting_name(study.config, row, study.suffix)
        for study in studies
        for row in build.parse(study.config).rows
    }
    assert names == {settings.named(m, graph) for m in METHODS for graph in settings.GRAPHS}


def test_the_paper_scale_is_that_of_the_paper():
    for study in run.studies("paper")[:: len(run.studies("paper")) // 2]:
        parsed = build.parse(study.config)
        assert parsed.model.config.num_layers == 12
        assert (parsed.task.num_nodes, parsed.task.num_train) == (50, 199_936)
        assert (parsed.train.seeds, parsed.train.num_updates) == (5, 390_500)


def test_controls_are_what_their_names_say():
    parsed = [build.parse(study.config) for study in run.studies("cpu")]
    assert {s.task.vocab_size for s in parsed} == {12 + 4}
    assert {(s.task.degree, s.task.path_length) for s in parsed} == {(2, 3), (5, 3)}
    changed = [(s.task.order, s.task.teacher, s.future.name if s.future else "") for s in parsed]
    assert set(changed) == {
        ("forward", "forced", ""),
        ("reversed", "forced", ""),
        ("forward", "none", ""),
        ("forward", "masked", ""),
        *(("forward", "forced", name) for name in FUTURE),
    }


def table(levels, *, spread=1e-3):
    """Five seeds of every setting near a level above 1/d, such as 0.2 for .7 on G(2,3)."""
    rng = np.random.default_rng(0)
    return results_of(
        {
            (settings.named(method, graph), settings.EXACT_MATCH): settings.chance(graph)
            + levels(method)
            + spread * rng.normal(size=5)
            for method in METHODS
            for graph in settings.GRAPHS
        }
    )


def found(levels):
    return with_holm(claims.claims(table(levels)))


def solved(method):
    if method in settings.CONTROLS:
        return 0.3
    return {settings.CE: 0.0, settings.E1_WARM_UP: 0.25}.get(method, 0.2)


def test_claims_hold_where_every_seed_finds_the_arm():
    judged = found(solved)
    assert len(judged) == 2 * (2 + 7 + 3 + 7)
    assert {claim.verdict for claim in judged} == {Verdict.HOLDS}


def test_claims_fail_where_all_guess():
    judged = found(lambda method: 0.001 if method == settings.CE_WARM_UP else 0.0)
    failed = {claim.text for claim in judged if claim.verdict is Verdict.FAILS}
    assert {f"{graph}: {settings.E1_WARM_UP} is above 1/d" for graph in settings.GRAPHS} <= failed
    assert {f"{graph}: next latent: most seeds find the arm" for graph in settings.GRAPHS} <= failed


def test_nothing_is_judged_while_cross_entropy_is_below_chance():
    judged = found(lambda method: -0.15 if method == settings.CE else solved(method))
    gates = [claim for claim in judged if "(the gate" in claim.text]
    assert [claim.verdict for claim in gates] == [Verdict.FAILS, Verdict.FAILS]
    others = [claim for claim in judged if claim not in gates]
    assert {claim.verdict for claim in others} == {Verdict.INCONCLUSIVE}
    assert all(math.isnan(claim.p) for claim in others)
    assert all(claim.detail.startswith("not judged, the gate is closed") for claim in others)


@pytest.mark.parametrize(
    ("num", "verdict"),
    [(0, Verdict.FAILS), (3, Verdict.INCONCLUSIVE), (5, Verdict.HOLDS)],
)
def test_a_control_is_judged_by_the_share_of_its_seeds(num, verdict):
    control = settings.MASKED
    gate = settings.named(settings.CE, "G(2,3)")
    values = {(gate, settings.EXACT_MATCH): 0.5 + np.arange(5) / 1e3}
    above = np.arange(5) < num
    values[settings.named(control, "G(2,3)"), settings.EXACT_MATCH] = np.where(above, 0.9, 0.55)
    judged = {claim.text: claim for claim in claims.claims(results_of(values))}
    claim = judged["G(2,3): masked tokens: most seeds find the arm"]
    assert claim.verdict is verdict
    assert claim.ours == f"{num} of 5 seeds"
    missing = judged["G(2,3): next latent: most seeds find the arm"]
    assert missing.verdict is Verdict.INCONCLUSIVE
    assert "not measured" in missing.detail


def test_the_title_has_the_numbers_of_the_table(tmp_path):
    write_results(tmp_path / "results.csv", table(solved))
    figure = plot.plot(tmp_path)
    title = figure.get_suptitle()
    assert "G(2,3), 1/d = .50: cross-entropy .50, E1 with warm-up .75, multi-token heads" in title
    assert "G(5,3), 1/d = .20: cross-entropy .20, E1 with warm-up .45, multi-token heads" in title
    chances = [line.get_xdata()[0] for ax in figure.axes for line in ax.lines if line.get_gid()]
    assert chances == [0.5, 0.2]
