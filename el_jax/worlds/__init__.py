"""Worlds: distributions over sentences whose probabilities are known exactly.

    world = block_hmm(num_states=12, vocab_size=24, length=8, num_blocks=3)
    sentences = world.sample(jax.random.key(0), 256)
    truth = world.log_conditionals(sentences.tokens)  # log p(x_t | x_-t), [256, T, V], in nats
    floor = entropy_floor(world, jax.random.key(1), 4096)  # no model's masked loss is below it

A model's masked cross-entropy is this floor plus its divergence from the truth, so a loss can be
read as a distance. ``world.py`` defines the interface and the notation. A world is one file and one
line of ``WORLDS``: a function of keyword arguments that are numbers or names. The world of a
network, ``LanguageModel``, takes a function and parameters instead; ``models/teacher.py`` builds it
from files.
"""

from el_jax.worlds.averages import (
    LabelRates,
    MaskedContexts,
    conditional_entropies,
    conditionals_at,
    entropy_floor,
    every_masked_context,
    every_sentence,
    exact_entropy_floor,
    exact_label_rates,
    label_rates,
)
from el_jax.worlds.bigram_river import bigram_river
from el_jax.worlds.chart import ChartGrammar
from el_jax.worlds.choice import (
    WORLDS,
    WorldChoice,
    choose_world,
    world_defaults,
    world_kinds,
)
from el_jax.worlds.dyck import BracketInputs, Dyck, balance
from el_jax.worlds.grammar_file import parse_grammar, read_grammar
from el_jax.worlds.hierarchy import random_hierarchy
from el_jax.worlds.hmm import HMM, block_hmm
from el_jax.worlds.language_model import LanguageModel, restricted_model
from el_jax.worlds.pcfg import TreeGrammar, tree_grammar
from el_jax.worlds.periodic import Periodic
from el_jax.worlds.processes import mess3, rrxor
from el_jax.worlds.world import PAD, Sentences, World

__all__ = [
    "HMM",
    "PAD",
    "WORLDS",
    "BracketInputs",
    "ChartGrammar",
    "Dyck",
    "LabelRates",
    "LanguageModel",
    "MaskedContexts",
    "Periodic",
    "Sentences",
    "TreeGrammar",
    "World",
    "WorldChoice",
    "balance",
    "bigram_river",
    "block_hmm",
    "choose_world",
    "conditional_entropies",
    "conditionals_at",
    "entropy_floor",
    "every_masked_context",
    "every_sentence",
    "exact_entropy_floor",
    "exact_label_rates",
    "label_rates",
    "mess3",
    "parse_grammar",
    "random_hierarchy",
    "read_grammar",
    "restricted_model",
    "rrxor",
    "tree_grammar",
    "world_defaults",
    "world_kinds",
]
