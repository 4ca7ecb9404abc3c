"""Claims on every run: two data sets, a network of each recipe on each."""

from experiments.harness.claims import number

COPIES, HARD, FITTED = "swap_copies", "test_precise_hard_accuracy", "train_hard_accuracy"
FIGURE = "Yang et al. 2025, Figures 1a and 2"


def at(recipe: str) -> dict[str, str]:
    """The runs of a recipe."""
    return {"recipe": recipe}


CLAIMS = [
    number(
        "Cross-entropy fits the hard training strings",
        FITTED,
        at("cross-entropy"),
        at_least=0.99,
        paper="1.00",
        source=FIGURE,
    ),
    number(
        "It is right on at most .9 of unseen hard strings",
        HARD,
        at("cross-entropy"),
        at_most=0.9,
        paper="below 1, the value only drawn",
        source=FIGURE,
    ),
    number("In the swap test it copies at most half", COPIES, at("cross-entropy"), at_most=0.5),
    number(
        "E1 with warm-up fits the hard training strings",
        FITTED,
        at("E1 with warm-up"),
        at_least=0.99,
    ),
    number(
        "In the swap test E1 with warm-up copies at least .9",
        COPIES,
        at("E1 with warm-up"),
        at_least=0.9,
    ),
    number(
        "Cross-entropy with warm-up copies at most half: warm-up alone is not enough",
        COPIES,
        at("cross-entropy with warm-up"),
        at_most=0.5,
        paper="a slight boost",
        source="Yang et al. 2025, section 4.2",
    ),
    number(
        "Cross-entropy with heavy decay fits the hard training strings",
        FITTED,
        at("cross-entropy with heavy decay"),
        at_least=0.99,
    ),
    number(
        "In the swap test it copies at least half",
        COPIES,
        at("cross-entropy with heavy decay"),
        at_least=0.5,
    ),
    number(
        "With a rate that falls to 0, heavy decay fits the hard training strings",
        FITTED,
        at("cross-entropy with heavy decay and a falling rate"),
        at_least=0.99,
    ),
    number(
        "With a rate that falls to 0, heavy decay copies at least half of the swap test",
        COPIES,
        at("cross-entropy with heavy decay and a falling rate"),
        at_least=0.5,
    ),
    number(
        "With a rate that falls to 0, cross-entropy with warm-up copies at most half",
        COPIES,
        at("cross-entropy with warm-up and a falling rate"),
        at_most=0.5,
    ),
    number(
        "With a rate that falls to 0 and 4,000 updates, E1 with warm-up fits the hard strings",
        FITTED,
        at("E1 with warm-up and a falling rate"),
        at_least=0.99,
    ),
    number(
        "With a rate that falls to 0 and 4,000 updates, E1 with warm-up copies at least .9",
        COPIES,
        at("E1 with warm-up and a falling rate"),
        at_least=0.9,
    ),
    number(
        "Given 4,000 updates and a falling rate, cross-entropy with warm-up copies at most half",
        COPIES,
        at("cross-entropy with warm-up and a falling rate for 4k"),
        at_most=0.5,
    ),
    number(
        "At three times the rate, falling, cross-entropy with warm-up fits the hard strings",
        FITTED,
        at("cross-entropy with warm-up and a falling rate from 3e-4"),
        at_least=0.99,
    ),
    number(
        "At three times the rate, falling, cross-entropy with warm-up copies at most half",
        COPIES,
        at("cross-entropy with warm-up and a falling rate from 3e-4"),
        at_most=0.5,
    ),
    number(
        "At three times the rate, falling, E1 with warm-up fits the hard strings",
        FITTED,
        at("E1 with warm-up and a falling rate from 3e-4"),
        at_least=0.99,
    ),
    number(
        "At three times the rate, falling, E1 with warm-up copies at least half",
        COPIES,
        at("E1 with warm-up and a falling rate from 3e-4"),
        at_least=0.5,
    ),
    number(
        "At ten times the rate, falling, cross-entropy with warm-up copies at most half",
        COPIES,
        at("cross-entropy with warm-up and a falling rate from 1e-3"),
        at_most=0.5,
    ),
]
