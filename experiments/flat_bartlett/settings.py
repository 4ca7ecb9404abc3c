"""Names of the trained networks, and the bounds that the claims and the figure share."""

WIDE, NARROW = WIDTHS = (8, 2)  # one that can be right everywhere, and one that cannot
PAPER_DIVERGENCE = 0.008  # nats: AdamW in Table 1, 3.204 over the entropy of 3.196
SATURATED = 1e-4  # nats, below which a network counts as right
SETTLED = 0.1  # nats, below which the power of the divergence is fitted


def name_of(width: int) -> str:
    """The setting of a network."""
    return f"width {width}"
