"""Claims on passages that no decoder separates, embedded by their words."""

from experiments.harness.claims import greater, level
from experiments.ntp_limit.run import setting

SHARE, ABOVE, COSINE = "separable_share", "above_infimum", "cosine"
TO_LIMIT, INFIMUM = "distance_to_limit", "infimum_above_entropy"
BAG = setting("bag_of_words", 2)
THEOREM = "Theorem 2, on the limit of the data"

CLAIMS = [
    level(
        "Bags of two words: training separates at least half of the pairs",
        SHARE,
        BAG,
        at_least=0.5,
    ),
    level(
        "Gradient descent comes within .01 nats of the infimum in 100,000 steps",
        ABOVE,
        BAG,
        at_most=0.01,
        source="Lemma 2, on the limit of the data",
    ),
    level(
        "It turns to the max margin of the separable pairs (cosine at least .9)",
        COSINE,
        BAG,
        at_least=0.9,
        source=THEOREM,
    ),
    level(
        "Its probabilities are within .01 of the limit's (total variation)",
        TO_LIMIT,
        BAG,
        at_most=0.01,
        source=THEOREM,
    ),
    greater(
        "Bags of three words are further from their entropy than bags of two",
        INFIMUM,
        setting("bag_of_words", 3),
        BAG,
    ),
]
