"""Claims of Yang et al. (2025) in their regime: every training string fitted, hard ones overfitted.

A difference of a tenth matters. Differences are over data sets, tested by exact permutation.
"""

from experiments.harness.claims import contrast, greater, level

HARD, FITTED, COPIES = "test_precise_hard_accuracy", "train_hard_accuracy", "swap_copies"
FIGURE_4, TABLE_3 = "Yang et al. 2025, Figure 4", "Yang et al. 2025, Table 3"
CE, E1, E2 = {"loss": "cross_entropy"}, {"loss": "e1", "lam": 4.0}, {"loss": "e2", "lam": 10.0}
COLD, WARM = {"warmup_steps": 0}, {"warmup_steps": 1000}
PROTOCOL, SHORT = ({"arm": arm} for arm in ("protocol", "short memory"))
MATTERS = 0.1

_PROTOCOL = [
    level(
        "Cross-entropy fits the hard training strings",
        FITTED,
        CE | COLD | PROTOCOL,
        at_least=0.99,
        paper="1.00",
        source=FIGURE_4,
    ),
    level(
        "It is wrong on unseen hard strings (at most .6 right)",
        HARD,
        CE | COLD | PROTOCOL,
        at_most=0.6,
        paper="about 0.3",
        source=FIGURE_4,
    ),
    greater(
        "Warm-up alone adds little to cross-entropy (at most .15)",
        HARD,
        CE | COLD | PROTOCOL,
        CE | WARM | PROTOCOL,
        by=-0.15,
        test="signs",
        paper="0.246 with warm-up, no number without",
        source=TABLE_3,
    ),
    greater(
        "E1 λ=4 with warm-up is more often right than cross-entropy with warm-up (by .1)",
        HARD,
        E1 | WARM | PROTOCOL,
        CE | WARM | PROTOCOL,
        by=MATTERS,
        test="signs",
        paper="0.780 against 0.246",
        source=TABLE_3,
    ),
    greater(
        "It copies more often where padding and letter disagree (by .1)",
        COPIES,
        E1 | WARM | PROTOCOL,
        CE | WARM | PROTOCOL,
        by=MATTERS,
        test="signs",
    ),
    level(
        "E2 λ=10 with warm-up has all unseen hard strings",
        HARD,
        E2 | WARM | PROTOCOL,
        at_least=0.99,
        paper="1.00",
        source=FIGURE_4,
    ),
]

_MEMORY = contrast(
    "E1's lead over cross-entropy, both with warm-up, is smaller at β₂ = .95 than at .999",
    HARD,
    [
        (1, E1 | WARM | PROTOCOL),
        (-1, CE | WARM | PROTOCOL),
        (-1, E1 | WARM | SHORT),
        (1, CE | WARM | SHORT),
    ],
)

_QUICK = [
    *(
        level(f"{name} fits the hard training strings", FITTED, loss | WARM, at_least=0.99)
        for name, loss in (("Cross-entropy", CE), ("E1 λ=4", E1))
    ),
    level(
        "Cross-entropy does not copy: it undoes the shift of the padding",
        "swap_undoes_shift",
        CE | WARM,
        at_least=0.6,
    ),
    greater("E1 copies more often", COPIES, E1 | WARM, CE | WARM),
]

CLAIMS = {"quick": _QUICK, "cpu": [*_PROTOCOL, _MEMORY]}
