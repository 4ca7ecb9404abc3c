"""Numbers at equal loss, by interpolation; groups, and the factors of conventions."""

import dataclasses

import numpy as np
import pytest

from el_jax import build
from el_jax.models.surgery import replication
from el_jax.training.sinks import History
from experiments.flat_size import claims, probe, run
from experiments.harness.tables import tidy, values_of


def test_numbers_of_equal_loss_lie_between_lengths_on_a_line_in_log_kl():
    courses = {  # by seed and width: KL, and the trace
        (0, 16): ([0.4, 0.1, 0.08], [0.0, 10.0, 20.0]),
        (0, 32): ([0.8, 0.3, 0.2], [1.0, 2.0, 3.0]),  # the higher end, at .2, sets the level
        (1, 16): ([0.3, 0.2, 0.1], [1.0, 2.0, 3.0]),
        (1, 32): ([0.09, 0.08, 0.07], [1.0, 1.0, 1.0]),  # below the level from the start
        (2, 16): ([8.0, 4.0, 0.5], [0.0, 4.0, 8.0]),
        (2, 32): ([4.0, 2.0, 1.0], [0.0, 3.0, 7.0]),
    }
    rows = []
    for place, updates in enumerate((1_500, 3_000, 6_000)):
        for (seed, width), (kl, trace) in courses.items():
            run = {"world": "pcfg", "width": width, "num_updates": updates, "seed": seed}
            rows.append(run | {"metric": "kl", "value": kl[place]})
            rows.append(run | {"metric": "trace", "value": trace[place]})
            rows.append(run | {"metric": "trace_released", "value": 1 + trace[place]})
            rows.append(run | {"metric": "updates", "value": float(updates)})
    found = claims.derived(tidy(rows))
    narrow, wide = ({"world": "pcfg", "width": width} for width in (16, 32))
    levels = values_of(found, narrow, claims.LEVEL)
    assert levels.to_dict() == pytest.approx({0: 0.2, 2: 1.0})
    traces = values_of(found, narrow, "trace")  # .2 is half-way from .4 to .1 in the logarithm
    assert traces.to_dict() == pytest.approx({0: 5.0, 2: 4.0 + 4.0 * 2 / 3})
    logs = values_of(found, narrow, "trace_released_logarithm")
    assert logs.to_dict() == pytest.approx({0: np.log(6.0), 2: np.log(5.0 + 4.0 * 2 / 3)})
    updates = values_of(found, narrow, "updates")
    assert updates.to_dict() == pytest.approx({0: 2_250.0, 2: 5_000.0})
    assert values_of(found, wide, "trace").to_dict() == pytest.approx({0: 3.0, 2: 7.0})


def configs(width=8):
    settings = build.parse(run.config_of("smoke", "pcfg", width, 20))
    large = dataclasses.replace(settings.model_config, width=24, num_heads=24 // 4)
    return settings, large


def test_groups_are_those_that_embedding_multiplies_alike():
    settings, large = configs()
    plan = replication(settings.model_config, large)
    assert {name: probe.group_of(name) for name in plan} == {
        name: replica.group for name, replica in plan.items()
    }
    assert {*probe.GROUPS} == {replica.group for replica in plan.values()}


def test_conventions_add_up_groups_by_their_factors():
    history = History()
    row = {f"fisher_{group}": np.array([2.0 * 10**j]) for j, group in enumerate(probe.GROUPS)}
    history.write(100, row)
    factors = run.factors_of(run.config_of("smoke", "pcfg", 8, 20), 32)
    found = run.numbers(history, factors)
    assert found["trace_matrices"] == pytest.approx(20.0)
    assert found["trace"] == pytest.approx(2 * 11111.0)
    k = 4  # tables by k, biases and norms by 1/k
    assert found["trace_released"] == pytest.approx(2 * (k + 10 + 100 / k + 1000 / k + 10_000))
    assert found["trace_balanced"] == pytest.approx(2 * (1 + 10 + 100 / k + 1000 + 10_000))
