"""The benchmarks pair timings, keep rows and judge goals; and each of them runs."""

import dataclasses
import functools
import itertools
import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models import PRESETS, transformer
from experiments.bench import (
    __main__ as command,
    gpt2,
    hugging_face,
    pytorch,
    pytorch_environment,
    suite,
    table,
)
from experiments.bench.paired import Estimate, compare, median_interval, round_ratios, time_abba
from experiments.bench.rows import (
    VERDICTS,
    at_least,
    at_most,
    estimated,
    exact,
    merge,
    not_measured,
    read_rows,
    write_rows,
)
from experiments.bench.trainings import PlainUpdates, Updates, on_one_batch, random_batch
from experiments.bench.worker import Worker, WorkerError
from experiments.harness.provenance import Provenance
from experiments.harness.tables import MalformedTableError

# ---- pairs ------------------------------------------------------------------------------------


class Machine:
    """A simulated machine: each timing is the task's work times the machine's current pace."""

    def __init__(self, pace):
        self.pace, self.time, self.order = pace, itertools.count(), []

    def side(self, name, seconds):
        def timing():
            self.order.append(name)
            return seconds * self.pace(next(self.time))

        return timing


def test_sides_take_turns_as_first_second_second_first_after_a_round_of_warming_up():
    machine = Machine(lambda t: 1.0 + t)
    seconds = time_abba(machine.side("a", 1.0), machine.side("b", 10.0), 2)
    assert machine.order == list("abba" * 3)
    np.testing.assert_allclose(seconds, [[5, 60, 70, 8], [9, 100, 110, 12]])
    with pytest.raises(ValueError, match="rounds=0"):
        time_abba(machine.side("a", 1.0), machine.side("b", 1.0), 0)


def test_a_steady_drift_cancels():
    drifting = Machine(lambda t: 1.0 + 0.3 * t)
    found = compare(drifting.side("a", 2.0), drifting.side("b", 3.0), 6)
    np.testing.assert_allclose(found.ratio, 1.5, rtol=1e-12)
    seconds = time_abba(drifting.side("a", 2.0), drifting.side("b", 3.0), 6)
    in_turns = seconds[:, 1] / seconds[:, 0]  # what a comparison without the second half sees
    assert (in_turns > 1.5).all()


def test_a_known_ratio_is_found_under_noise_and_bursts():
    generator = np.random.default_rng(0)

    def pace(_):  # neighbours: now and then the machine is five times slower
        return generator.lognormal(0.0, 0.1) * (5.0 if generator.random() < 0.05 else 1.0)

    machine = Machine(pace)
    found = compare(machine.side("a", 0.8), machine.side("b", 1.0), 60)
    assert found.ratio.low < 1.25 < found.ratio.high
    assert found.ratio.value == pytest.approx(1.25, rel=0.05)
    assert found.first_seconds == pytest.approx(0.8, rel=0.1)
    assert found.second_seconds == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("rounds", [9, 20])
def test_the_interval_covers_what_it_should(rounds):
    generator = np.random.default_rng(1)
    covered = []
    for _ in range(600):
        seconds = generator.lognormal(0.0, 0.2, (rounds, 4)) * [1.0, 1.5, 1.5, 1.0]
        found = median_interval(round_ratios(seconds), resamples=500)
        covered.append(found.low <= 1.5 <= found.high)
    assert 0.90 < np.mean(covered) < 0.98


def test_the_interval_is_that_of_the_median():
    assert median_interval(np.array([3.0])) == Estimate(3.0, 3.0, 3.0)
    values = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    found = median_interval(values)
    assert found.value == 3.0
    assert 1.0 <= found.low < 3.0 < found.high <= 100.0
    assert median_interval(values) == found  # seeded
    one_outlier = median_interval(np.array([*np.linspace(1.0, 1.7, 8), 1000.0]))
    assert one_outlier.high <= 1.7


# ---- rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "low", "high", "verdict"),
    [
        (at_most(0.9), 0.7, 0.9, "met"),
        (at_most(0.9), 0.91, 1.0, "missed"),
        (at_most(0.9), 0.8, 1.0, "inconclusive"),
        (at_least(8), 8.0, 9.0, "met"),
        (at_least(8), 7.0, 7.9, "missed"),
        (at_least(8), 7.0, 9.0, "inconclusive"),
    ],
)
def test_the_whole_interval_decides(goal, low, high, verdict):
    assert goal.verdict(low, high) == verdict
    assert estimated("b", "c", "q", Estimate(1, low, high), goal).verdict == verdict


def test_what_is_written_is_what_was_judged():
    goal = at_most(1.05)
    assert exact("b", "c", "q", 1.05004, goal).verdict == "met"  # written as 1.05
    assert estimated("b", "c", "q", Estimate(1.0501, 1.04999, 1.05004), goal).verdict == "met"
    assert exact("b", "c", "q", 1.0506, goal).verdict == "missed"


ROWS = [
    estimated("pytorch", "a, b", "update / PyTorch", Estimate(0.8, 0.75, 0.85), at_most(0.9)),
    exact("pytorch", "a, b", "update, ms", 12345.0),
    not_measured("gpt2", "a", "tokens a second", "no accelerator", at_least(1)),
]


def test_rows_come_back_as_they_were_written(tmp_path):
    write_rows(tmp_path / "results.csv", ROWS)
    back = read_rows(tmp_path / "results.csv")
    assert back == ROWS
    assert ROWS[1].value == 12340.0  # four digits
    assert (tmp_path / "results.csv").read_text().splitlines()[0] == (
        "benchmark,case,quantity,value,low,high,goal,verdict"
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("p,c,q,1,1,1,<= 2,met,why", "more than 8 fields"),
        ("p,c,q,nan,,,,no goal", "finite"),
        ("p,c,q,fast,,,,no goal", "finite"),
        ("p,c,q,1,,,,fine", "verdict is 'fine'"),
        ("p,,q,1,,,,no goal", "case is ''"),
        ("p,c,q,,,,<= 2,met", "exclude"),
        ("p,c,q,1,,,<= 2,not measured: why", "exclude"),
        ("p,c,q,1,,,,no goal\np,c,q,2,,,,no goal", "second value"),
    ],
)
def test_a_malformed_table_is_seen(tmp_path, line, fault):
    path = tmp_path / "results.csv"
    path.write_text("benchmark,case,quantity,value,low,high,goal,verdict\n" + line + "\n")
    with pytest.raises(MalformedTableError, match=fault):
        read_rows(path)
    path.write_text("benchmark,case\n")
    with pytest.raises(MalformedTableError, match="header"):
        read_rows(path)


def test_one_benchmark_replaces_its_own_rows_only(tmp_path):
    new = [exact("pytorch", "c", "q", 1.0)]
    assert merge(ROWS, new, ["gpt2", "pytorch"]) == [ROWS[2], *new]
    assert merge(ROWS, new, ["pytorch"]) == new  # a benchmark that is no more
    made = Provenance("", "cpu", {}, {"pytorch": 1.0}, "c0ffee", False, {}, {}, "2026-01-01")
    suite.update_files(tmp_path, ROWS, {"pytorch": made, "gpt2": made})
    suite.update_files(tmp_path, new, {"pytorch": dataclasses.replace(made, date="2026-01-02")})
    assert read_rows(tmp_path / "results.csv") == [*new, ROWS[2]]
    dates = {
        n: p["date"] for n, p in json.loads((tmp_path / "provenance.json").read_text()).items()
    }
    assert dates == {"pytorch": "2026-01-02", "gpt2": "2026-01-01"}


def test_the_table_goes_between_its_markers_and_says_what_was_found():
    shown = [table.cells(row) for row in ROWS]
    assert shown[0][3:] == ("0.8 (0.75 to 0.85)", "<= 0.9", "met")
    assert shown[1][3:] == ("12,340", "", "")
    assert shown[2][3:] == ("", ">= 1", "not measured: no accelerator")
    assert table.summary(ROWS) == "1 met, 1 not measured"
    page = table.put_into(f"a\n{table.START}\nold\n{table.END}\nb\n", "new\n")
    assert page == f"a\n{table.START}\n\nnew\n\n{table.END}\nb\n"
    with pytest.raises(ValueError, match="once each"):
        table.put_into(f"{table.END} {table.START}", "new")


# ---- the same computation on both sides -------------------------------------------------------


def tiny(preset):
    return dataclasses.replace(
        PRESETS[preset], vocab_size=7, width=8, num_layers=2, num_heads=2, max_length=5,
        rotary_fraction=0.5, embedding_dropout=0.0, attention_dropout=0.0, residual_dropout=0.0,
    )  # fmt: skip


def random_params(model):
    shapes = transformer(model).init(jax.random.key(0))
    generator = np.random.default_rng(0)
    return jax.tree.map(lambda leaf: generator.normal(size=leaf.shape).astype(np.float32), shapes)


def test_gpt_neox_keeps_query_key_and_value_of_a_head_together():
    params = random_params(tiny("gpt_neox"))
    state = hugging_face.gpt_neox(params)
    attention, x = params["layers_1"]["attn"], np.arange(8.0)
    name = "gpt_neox.layers.1.attention.query_key_value"
    fused = state[f"{name}.weight"] @ x + state[f"{name}.bias"]
    ours = [np.einsum("d,dhk->hk", x, attention[p]["kernel"]) + attention[p]["bias"] for p in "qkv"]
    np.testing.assert_allclose(fused.reshape(2, 3, 4), np.stack(ours, 1), rtol=1e-5)
    out = np.einsum("hk,hkd->d", ours[2], attention["o"]["kernel"]) + attention["o"]["bias"]
    dense = state["gpt_neox.layers.1.attention.dense.weight"] @ ours[2].reshape(-1)
    np.testing.assert_allclose(
        dense + state["gpt_neox.layers.1.attention.dense.bias"], out, rtol=1e-4
    )
    assert state["lm_head.weight"].shape == (7, 8)
    assert len(state) == 2 + 2 + 2 * 12


def test_gpt2_keeps_all_queries_then_all_keys_then_all_values():
    params = random_params(tiny("gpt2"))
    state = hugging_face.gpt2(params)
    attention, x = params["layers_0"]["attn"], np.arange(8.0)
    fused = x @ state["transformer.h.0.attn.c_attn.weight"]
    fused += state["transformer.h.0.attn.c_attn.bias"]
    ours = [np.einsum("d,dhk->hk", x, attention[p]["kernel"]) + attention[p]["bias"] for p in "qkv"]
    np.testing.assert_allclose(fused.reshape(3, 2, 4), np.stack(ours), rtol=1e-5)
    np.testing.assert_array_equal(state["lm_head.weight"], params["tok_emb"])
    assert len(state) == 3 + 2 + 2 * 12


@pytest.mark.parametrize("preset", ["gpt_neox", "gpt2"])
def test_every_parameter_is_handed_over_once(preset):
    params = random_params(tiny(preset))
    state = hugging_face.STATE_DICTS[preset](params)
    if preset == "gpt2":
        del state["lm_head.weight"]  # the token table again
    handed_over = np.sort(np.concatenate([leaf.ravel() for leaf in state.values()]))
    ours = np.sort(np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(params)]))
    np.testing.assert_array_equal(handed_over, ours)


def test_the_engine_and_plain_updates_train_alike():
    model, batch = tiny("gpt_neox"), random_batch(7, 2, 5)
    engine, plain = Updates(on_one_batch(model, batch), 3), PlainUpdates(model, batch, 3)
    equal = functools.partial(np.testing.assert_allclose, atol=1e-7)
    jax.tree.map(equal, engine.params, plain.params)
    start = plain.params["tok_emb"].copy()
    engine()
    plain()
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), engine.params, plain.params
    )
    assert float(jnp.abs(plain.params["tok_emb"] - start).max()) > 1e-3  # 3 steps of Adam at 1e-3


def test_a_batch_asks_for_as_many_positions_as_it_should():
    few, everywhere = random_batch(50, 3, 20, 2), random_batch(50, 3, 20)
    np.testing.assert_array_equal(few.tokens, everywhere.tokens)
    np.testing.assert_array_equal(everywhere.supervised, np.tile(np.arange(20), (3, 1)))
    assert (np.diff(few.supervised) > 0).all()
    picked = np.take_along_axis(np.asarray(everywhere.labels), np.asarray(few.supervised), 1)
    np.testing.assert_array_equal(few.labels, picked)


def test_a_disagreement_with_pytorch_is_an_error(tmp_path):
    np.savez(tmp_path / "ours.npz", all_logits=np.zeros(3), all_losses=np.zeros(2))
    np.savez(tmp_path / "theirs.npz", all_logits=np.full(3, 1e-5), all_losses=np.zeros(2))
    pytorch.check_agreement(tmp_path, 1e-4)
    np.savez(tmp_path / "theirs.npz", all_logits=np.zeros(3), all_losses=np.array([0.0, 0.01]))
    with pytest.raises(pytorch.DisagreementError, match=r"all_losses .* by 0\.01"):
        pytorch.check_agreement(tmp_path, 1e-4)
    np.savez(tmp_path / "theirs.npz", all_logits=np.full(3, np.nan), all_losses=np.zeros(2))
    with pytest.raises(pytorch.DisagreementError, match="all_logits"):
        pytorch.check_agreement(tmp_path, 1e-4)


def test_without_pytorch_nothing_is_made_up(monkeypatch):
    def none(**_):
        raise pytorch_environment.NoPyTorchError("pip cannot install PyTorch (no network)")

    monkeypatch.setattr(pytorch, "python_with_pytorch", none)
    rows = pytorch.measure("cpu")
    assert {row.verdict for row in rows} == {
        "not measured: pip cannot install PyTorch (no network)"
    }
    assert "update / PyTorch" in {row.quantity for row in rows}


# ---- the benchmarks ---------------------------------------------------------------------------


def test_model_flops_are_six_a_parameter_and_twelve_a_score():
    model = PRESETS["gpt2"]
    # by hand: 2 for the forward and 4 for the backward product of each parameter; in each layer
    # scores and averages are 2 * 2 T D forward, twice that backward
    assert gpt2.model_flops(model, 124_000_000, 1024) == 6 * 124e6 + 12 * 12 * 768 * 1024


def test_a_worker_that_dies_says_why():
    with (
        Worker("experiments.bench.runs_worker", ["no json"]) as worker,
        pytest.raises(WorkerError, match="JSONDecodeError"),
    ):
        worker.ready()


QUANTITIES = {
    "losses": {"E1 / cross-entropy"},
    "fused": {"time / plain", "plain, ms", "memory / plain", "plain, MB"},
    "runs_at_once": {
        "one after another / vmap",
        "one after another / processes",
        "one after another / the best of these",
    },
    "last_block": {
        "everywhere / where asked",
        "update where asked, ms",
        "operations everywhere / where asked",
        "head and loss everywhere / update everywhere",
    },
    "relaunch": {
        "warm start to first update, s",
        "warm: interpreter, s",
        "warm: imports, s",
        "warm: config file, s",
        "warm: backend, s",
        "warm: settings, s",
        "warm: data sets, s",
        "warm: initialisation, s",
        "warm: first update, s",
    },
    "overhead": {
        "blocked by checkpoints, share",
        "blocked by the first checkpoint, ms",
        "blocked by the last one, ms",
        "logging, share",
        "waiting for the last checkpoint, s",
        "training, s",
    },
    "max_margin": {
        "Clarabel / ours",
        "ours, s",
        "ours, duality gap",
        "Clarabel's distance from ours, relative",
    },
}
SLOW = ("relaunch", "runs_at_once", "overhead", "last_block")  # 10 s each and more


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in QUANTITIES],
)
def test_a_benchmark_runs(name):
    rows = suite.BENCHMARKS[name]("smoke")
    assert {row.benchmark for row in rows} == {name}
    assert QUANTITIES[name] <= {row.quantity for row in rows}
    assert len({row[:3] for row in rows}) == len(rows)
    for row in rows:
        assert row.value is not None
        assert math.isfinite(row.value)
        assert row.value > 0 or "loading" in row.quantity or "share" in row.quantity
        assert row.low is None or row.low <= row.value <= row.high
        assert row.verdict in VERDICTS


def test_gpt2_is_not_measured_on_a_cpu():
    rows = gpt2.measure("cpu")
    assert [row.value for row in rows] == [None, None]
    assert {row.verdict for row in rows} == {"not measured: no accelerator"}
    assert [row.goal for row in rows] == ["", ">= 0.4"]


@pytest.fixture
def pytorch_installed():
    try:
        pytorch_environment.python_with_pytorch(cuda=False, install=False)
    except pytorch_environment.NoPyTorchError as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_pytorch_runs_and_agrees(pytorch_installed):
    rows = pytorch.measure("smoke")
    assert [row.quantity for row in rows if "/ PyTorch" in row.quantity] == [
        "update / PyTorch",
        "update, all positions / PyTorch",
        "gradient and AdamW alone, all positions / PyTorch",
    ]
    assert all(row.value is not None and row.value > 0 for row in rows)


# ---- the command line and what is committed ---------------------------------------------------


def test_the_command_names_what_it_does_not_know(capsys):
    assert command.main(["pytorch", "no_such"]) == 2
    assert "no benchmark ['no_such']" in capsys.readouterr().err


def test_the_command_measures_what_it_is_told_and_writes_where_it_is_told(
    tmp_path, monkeypatch, capsys
):
    made = Provenance("", "smoke", {}, {"gpt2": 1.0}, "c0ffee", False, {}, {}, "2026-01-01")
    asked = []
    monkeypatch.setattr(
        command, "run_apart", lambda name, scale: asked.append((name, scale)) or (ROWS[2:], made)
    )
    before = command.README.read_text()
    assert command.main(["gpt2", "--scale=smoke", f"--out={tmp_path}"]) == 0
    assert asked == [("gpt2", "smoke")]
    assert read_rows(tmp_path / "results.csv") == ROWS[2:]
    assert "goals: 1 not measured" in capsys.readouterr().out
    assert command.README.read_text() == before


def committed() -> list[Path]:
    return [
        path for folder in command.COMMITTED.values() if (path := folder / "results.csv").exists()
    ]


@pytest.mark.parametrize("results", committed(), ids=lambda path: path.parent.name)
def test_committed_results_are_whole(results, tmp_path):
    rows = read_rows(results)
    write_rows(tmp_path / "results.csv", rows)
    assert (tmp_path / "results.csv").read_bytes() == results.read_bytes()
    assert {row.benchmark for row in rows} <= set(suite.BENCHMARKS)
    provenance = json.loads((results.parent / "provenance.json").read_text())
    assert set(provenance) == {row.benchmark for row in rows}
    for row in rows:
        if row.goal and row.value is not None:
            relation, bound = row.goal.split()
            goal = (at_most if relation == "<=" else at_least)(float(bound))
            ends = (row.value, row.value) if row.low is None else (row.low, row.high)
            assert row.verdict == goal.verdict(*ends)


def test_all_benchmarks_have_results_at_the_cpu_scale():
    rows = read_rows(command.COMMITTED["cpu"] / "results.csv")
    assert {row.benchmark for row in rows} == set(suite.BENCHMARKS)


def test_the_readme_has_the_table_that_the_results_give():
    page = command.README.read_text(encoding="utf-8")
    assert table.put_into(page, command.tables()) == page
