"""Optimizers, dimensions and text: the computations of run.py on cases with a known answer."""

import math

import numpy as np
import pytest

from el_jax.config import linear_ntp as ntp_settings
from el_jax.linear_ntp import random_problem
from experiments.ntp_phase import run as phase_run
from experiments.ntp_phase.least_dimension import LeastDimension

# ---- the least dimension ------------------------------------------------------------------------


@pytest.mark.parametrize("least", [1, 4, 5, 9])
def test_the_least_dimension_is_found_and_few_are_looked_at(least):
    search = LeastDimension(random_problem(9, 9, 4, 2), lambda problem: problem.dim >= least)
    assert search.find() == least
    assert len(search.verdicts) <= 1 + math.ceil(math.log2(9))
    assert search.undecided == 0
    coarse = LeastDimension(search.problem, search.check, step=4)
    assert coarse.find() == min(4 * math.ceil(least / 4), 9)


def test_a_least_dimension_is_not_guessed():
    problem = random_problem(9, 9, 4, 2)
    search = LeastDimension(problem, lambda cut: None if cut.dim < 6 else True)
    assert math.isnan(search.find())
    assert search.undecided == 1
    assert LeastDimension(problem, lambda cut: False).find() == math.inf
    assert math.isnan(LeastDimension(problem, lambda cut: None).find())


def test_what_is_cut_is_the_embeddings_alone():
    problem = random_problem(5, 7, 4, 2)
    seen = []
    LeastDimension(problem, lambda cut: bool(seen.append(cut)) or cut.dim >= 3).find()
    for cut in seen:
        np.testing.assert_array_equal(cut.embeddings, problem.embeddings[: cut.dim])
        np.testing.assert_array_equal(cut.next_token_probs, problem.next_token_probs)


# ---- dimensions of random data ------------------------------------------------------------------


def test_what_is_counted():
    ensemble = phase_run.Ensemble(num_contexts=24, vocab_size=6, support_size=2)
    assert ensemble.counting_bound == 5  # 24 equations, 5 unknowns a dimension
    assert 5 * ensemble.cover_count - 24 == pytest.approx(24 * (6 - 2) / 2)
    assert phase_run.Ensemble(10, 2, 1).cover_count == 5  # Cover: half as many dimensions


# ---- text ---------------------------------------------------------------------------------------


def test_a_passage_starts_at_its_first_word(monkeypatch):
    words = list("abacabaacb")
    monkeypatch.setattr(ntp_settings, "king_james_words", lambda books: words)

    def passage(first_word, num_words):
        return ntp_settings.text_problem(
            books=(),
            first_word=first_word,
            num_words=num_words,
            context_length=1,
            vocab_limit=3,
            min_count=1,
            embedding="bag_of_words",
            dim=0,
            seed=0,
        )

    cut = passage(2, 6)  # a c a b a a: of its five pairs, three begin with a
    np.testing.assert_allclose(np.sort(cut.context_probs), [1 / 5, 1 / 5, 3 / 5])
    monkeypatch.setattr(ntp_settings, "king_james_words", lambda books: words[2:8])
    np.testing.assert_array_equal(passage(0, 0).next_token_probs, cut.next_token_probs)
