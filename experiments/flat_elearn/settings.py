"""Names of the trained settings and of their numbers."""

CE, E1, E2, E3 = "cross-entropy", "E1 λ=2", "E2 λ=4", "E3 b=1"
LOSSES = (CE, E1, E2, E3)
NONE, WARM = "", ", warm-up"
SETTINGS = tuple(loss + warm for loss in LOSSES for warm in (NONE, WARM))

HARD, TRAIN = "test_precise_hard_accuracy", "train_hard_accuracy"
MATCHED_CE = 0.05  # nats a training token to which logits are scaled before networks are compared
# measures of curvature, of cross-entropy: natural logarithms, so that differences are of factors
FISHER, SCALE_FREE, TOP = "log_fisher_trace", "log_scale_free_trace", "log_top_eigenvalue"
MEASURES = {
    FISHER: "Fisher trace",
    SCALE_FREE: "scale-free trace",
    TOP: "largest eigenvalue of the Hessian",
}


def matched(measure: str) -> str:
    """The name of a measure after the logits were scaled to equal training cross-entropy."""
    return f"matched_{measure}"
