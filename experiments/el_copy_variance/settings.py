"""Names of the trained settings, and the seeds that share a data set."""

CE, CE_WARM_UP, E2_WARM_UP = "cross-entropy", "cross-entropy, warm-up", "E2 λ=4, warm-up"
SETTINGS = (CE, CE_WARM_UP, E2_WARM_UP)
HARD = "test_precise_hard_accuracy"
SEEDS_PER_DATA = 4  # seeds 0 to 3 have the first data set, 4 to 7 the second
