"""Claims of Yang et al. (2025) on the course of training: stratification, and how it ends.

Besides the metrics at the end of training, results.csv has for each run: ``..._at_first``, a metric
after 100 updates; ``mean_accuracy_gap``, accuracy on easy minus accuracy on hard training strings,
averaged over training; ``hard_accuracy_when_fitted``, accuracy on unseen hard strings when the hard
training strings are first fitted; ``rectified_afterwards``, the gain after that.
"""

from experiments.harness.claims import greater, level

CE, E1, DECAY = ({"method": name} for name in ("cross-entropy", "E1", "weight decay"))
FIGURE_4, SECTION = "Yang et al. 2025, Figure 4", "Yang et al. 2025, section 3.2"

_GAINS = "rectified_afterwards"
LOOKS = {"cpu": 2}  # at the first look, with fewer data sets, three of five were undecided

CLAIMS = {
    "cpu": [
        level(
            "Every run of cross-entropy fits easy strings while half of the hard are wrong",
            "ever_stratified_by_accuracy",
            CE,
            at_least=0.99,
            paper="one of three regimes",
            source=SECTION,
        ),
        level(
            "It memorises: when it has fitted, at most .6 of the unseen hard strings are right",
            "hard_accuracy_when_fitted",
            CE,
            at_most=0.6,
            paper="a regime, no number",
            source=SECTION,
        ),
        greater(
            "E1 gains more on unseen hard strings after it has fitted",
            _GAINS,
            E1,
            CE,
            paper="rectification, no number",
            source=SECTION,
        ),
        greater("Heavy decay gains more after it has fitted", _GAINS, DECAY, CE),
        greater(
            "E1 has a smaller gap in accuracy between easy and hard training strings",
            "mean_accuracy_gap",
            CE,
            E1,
            paper="far smaller loss, no number",
            source=FIGURE_4,
        ),
    ]
}
