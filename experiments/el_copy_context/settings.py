"""Names of the trained settings, and the values of the three factors of the data."""

CE, CE_WARM_UP, E2_WARM_UP = "cross-entropy", "cross-entropy, warm-up", "E2 λ=4, warm-up"
LOSSES = (CE, CE_WARM_UP, E2_WARM_UP)
HARD = "test_precise_hard_accuracy"

CONTEXT, PADDING, EASY = "context", "L_p", "easy"
# a factor, its values, and the value that the runs over other factors have
CONTEXTS = (55, 110, 220, 440)  # 1, 2, 4 and 8 strings
PADDINGS = (10, 25, 50, 100)
EASY_FRACTIONS = (0.0, 0.5, 0.8, 0.9)
BASE = {CONTEXT: 110, PADDING: 50, EASY: 0.8}
VALUES = {CONTEXT: CONTEXTS, PADDING: PADDINGS, EASY: EASY_FRACTIONS}


def named(loss: str, factor: str, value: float) -> str:
    """The name of the setting whose data have this value of a factor, and others their base."""
    if value == BASE[factor]:
        factor, value = CONTEXT, BASE[CONTEXT]
    return loss + suffix_of(factor, value)


def suffix_of(factor: str, value: float) -> str:
    """The end of the name of a setting."""
    return f", {factor} {value:g}"


def measured(known: set[str], loss: str, factor: str) -> dict[float, str]:
    """The values of a factor that were trained with a loss, ascending, and their settings."""
    start = f"{loss}, {factor} "
    found = {float(name.removeprefix(start)): name for name in known if name.startswith(start)}
    base = named(loss, factor, BASE[factor])
    if found and base in known:
        found[BASE[factor]] = base
    return dict(sorted(found.items()))
