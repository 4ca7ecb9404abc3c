"""Names of the trained settings."""

TEXTS = {"King James": "king_james", "Shakespeare": "shakespeare"}  # name -> source of the task
OVERALL, EASY, HARD = "test_exact_match", "test_easy_exact_match", "test_hard_exact_match"
TRAIN_CE = "train_hard_ce"  # nats a label token, hard sentences trained on
PANELS = {OVERALL: "all sentences", EASY: "easy", HARD: "hard"}

CE, CE_WARM_UP = "cross-entropy", "cross-entropy, warm-up"
E1, E1_WARM_UP = "E1 λ=1", "E1 λ=1, warm-up"  # the paper's λ of its section 5
LOSSES = (CE, CE_WARM_UP, E1, E1_WARM_UP)
ONE_EQUILIBRIUM = 0.5  # λ at which E1 has one equilibrium margin a token, where at 1 it has two
E1_ONE, E1_ONE_WARM_UP = f"E1 λ={ONE_EQUILIBRIUM}", f"E1 λ={ONE_EQUILIBRIUM}, warm-up"
PERMUTED, ABSENT = "labels permuted", "no label"
CONTROLS = {PERMUTED: "permuted", ABSENT: "absent"}  # name -> field ``label`` of the task
MANY, NUM_MANY = "1,024 sentences", 1_024  # beside the fewer of the other settings
CE_PERMUTED, E1_PERMUTED = f"{CE}, {PERMUTED}", f"{E1_WARM_UP}, {PERMUTED}"
CE_ABSENT = f"{CE}, {ABSENT}"
WITH_MANY = CE_MANY, CE_WARM_UP_MANY, E1_MANY, E1_WARM_UP_MANY = tuple(
    f"{loss}, {MANY}" for loss in LOSSES
)
METHODS = (*LOSSES, E1_ONE, E1_ONE_WARM_UP, CE_PERMUTED, E1_PERMUTED, CE_ABSENT, *WITH_MANY)


def named(method: str, text: str) -> str:
    """The name of a setting: a loss, or a control under a loss, on a text."""
    return f"{method}, {text}"
