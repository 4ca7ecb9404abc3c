"""Names of the settings: a network, and the labels at which its Hessian is taken."""

PRETRAINED, FRESH = "pretrained", "fresh"
NETWORKS = (PRETRAINED, FRESH)
TEXT, OWN, OTHER = "labels of the text", "labels it would draw", "labels of other contexts"
LABELS = (TEXT, OWN, OTHER)
RATIO = "hessian_over_fisher"
GAP = "gap"  # |Tr H / Tr F - 1|


def named(network: str, labels: str) -> str:
    """The name of a setting."""
    return f"{network}, {labels}"
