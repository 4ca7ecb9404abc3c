"""Facts and their margins by hand, and the times at which margins cross a level."""

import jax
import numpy as np
import pytest

from el_jax.models import LookupTableConfig, lookup_table
from el_jax.tasks import CausalWords
from el_jax.training.sinks import History
from el_jax.worlds import choose_world
from experiments.el_times.facts import fact_margins, zipf_facts
from experiments.el_times.run import FREQUENCY, MARGINS, crossing, times


def test_facts_follow_zipf_and_have_one_answer_each():
    world = zipf_facts(num_facts=5, num_answers=3, seed=1)
    subjects, answers = np.asarray(world.sample(jax.random.key(0), 20_000).tokens).T
    shares = np.bincount(subjects, minlength=5) / 20_000
    np.testing.assert_allclose(shares, 1 / np.arange(1, 6) / (1 / np.arange(1, 6)).sum(), atol=0.02)
    assert all(len(set(answers[subjects == j])) == 1 for j in range(5))
    assert answers.min() >= 5


def test_margins_are_those_of_each_octave():
    world = choose_world("zipf_facts", {"num_facts": 3, "num_answers": 2})
    task = CausalWords(world=world, num_train=0)
    answers = np.asarray(world.make().transition)[:3].argmax(axis=1)
    model = lookup_table(LookupTableConfig(vocab_size=task.vocab_size))
    table = model.init(jax.random.key(0))["logits"]
    for fact, margin in enumerate((1.0, 2.0, 4.0)):
        table = table.at[fact, answers[fact]].set(margin)
    found = fact_margins(task, model).of_params({"logits": table[None]})
    assert [float(found[f"margin_{k}"][0]) for k in (0, 1)] == [1.0, 3.0]
    spread = np.std([1, 2, 4]) / np.mean([1, 2, 4])
    assert float(found["margin_spread"][0]) == pytest.approx(spread)


def test_a_crossing_lies_between_evaluations():
    margins = np.array([[0.0, 0.6], [0.25, 0.7], [0.75, 0.8]])
    steps = np.array([10, 20, 30])
    np.testing.assert_allclose(crossing(steps, margins, 0.5), [25, 10])
    assert np.isinf(crossing(steps, margins, 0.78)[0])


def test_times_that_are_a_power_of_the_probability_have_its_exponent():
    history, steps = History(), range(1, 2_001)
    for step in steps:  # each margin is the share of its time, FREQUENCY^-.5, that has passed
        shares = 0.01 * step * np.sqrt(FREQUENCY)
        history.write(step, {m: np.array([s]) for m, s in zip(MARGINS, shares, strict=True)})
    row = times(history)
    assert row["exponent"][0] == pytest.approx(0.5, abs=1e-6)
    assert row["exponent_from_rank_8"][0] == pytest.approx(0.5, abs=1e-6)
    assert row["learnt"][0] == 1
