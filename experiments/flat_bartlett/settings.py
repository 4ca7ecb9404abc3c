"""Names of the trained networks, and the bounds that the claims and the figure share."""

WIDE, NARROW, BLIND = "width 8", "width 2", "width 8, blind to order"
# width, and whether words' places are seen; the first can be right everywhere, the others cannot
NETWORKS = {WIDE: (8, "learned"), NARROW: (2, "learned"), BLIND: (8, "none")}
PAPER_DIVERGENCE = 0.008  # nats: AdamW in Table 1, 3.204 over the entropy of 3.196
SATURATED = 1e-4  # nats, below which a network counts as right
SETTLED = 0.1  # nats, below which the power of the divergence is fitted
