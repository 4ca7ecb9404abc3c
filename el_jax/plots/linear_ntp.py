"""Figures of linear next-token prediction: word vectors in the plane, and a training trajectory.

Thrampoulidis 2024 (arXiv 2402.18551), Figures 1, 2, 4 and 5.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Num
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots.labels import add_point_labels
from el_jax.plots.style import (
    SPARE_COLOURS,
    THEORY_COLOUR,
    add_panel_legend,
    add_question,
    add_titles,
    new_figure,
)

Metrics = Mapping[str, Float[np.ndarray, "marks"]]

_NORM_COLOURS = {
    "frobenius": "black",
    "max": SPARE_COLOURS[0],
    "spectral": SPARE_COLOURS[2],
    "nuclear": SPARE_COLOURS[1],
}


def plot_geometry(
    ax: Axes, embeddings: Float[np.ndarray, "d m"], decoder: Float[np.ndarray, "V d"]
) -> None:
    """Draw contexts (black circles h1, h2, ...) and word vectors of a decoder (stars 1, 2, ...).

    Args:
        ax: the axes.
        embeddings: H with d = 2, in the plane.
        decoder: W, one row per token. Rows that coincide share a star and its label.

    Raises:
        ValueError: if d is not 2.
    """
    if embeddings.shape[0] != 2 or decoder.shape[1] != 2:
        raise ValueError(
            f"embeddings {embeddings.shape}, decoder {decoder.shape}: must be [2, m] and [V, 2]"
        )
    contexts = [f"$h_{j + 1}$" for j in range(embeddings.shape[1])]
    words = _shared([str(z + 1) for z in range(len(decoder))], decoder)
    ax.axhline(0, color="#cccccc", linewidth=0.8)
    ax.axvline(0, color="#cccccc", linewidth=0.8)
    for x, y in embeddings.T:
        ax.plot([0, x], [0, y], color="black", linewidth=0.8, linestyle=":")
        ax.plot(x, y, "o", color="black", markersize=6)
    for place, _, (x, y) in words:
        colour = SPARE_COLOURS[place % len(SPARE_COLOURS)]
        ax.plot([0, x], [0, y], color=colour, linewidth=1.2)
        ax.plot(x, y, "*", color=colour, markersize=13)
    points = np.concatenate([embeddings.T, [vector for *_, vector in words]])
    reach = 1.3 * np.abs(points).max()
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    add_point_labels(ax, [*contexts, *(names for _, names, _ in words)], points, points)


def _shared(
    names: Sequence[str], vectors: Float[np.ndarray, "V 2"]
) -> list[tuple[int, str, Float[np.ndarray, "2"]]]:
    """Each distinct vector once: its first index, the names that share it, and the vector."""
    reach = 1e-6 * max(float(np.abs(vectors).max()), 1e-300)
    groups: list[tuple[int, list[str], np.ndarray]] = []
    for place, (name, vector) in enumerate(zip(names, vectors, strict=True)):
        for _, members, other in groups:
            if np.abs(vector - other).max() <= reach:
                members.append(name)
                break
        else:
            groups.append((place, [name], vector))
    return [(place, " = ".join(members), vector) for place, members, vector in groups]


def plot_trajectory(
    steps: Num[np.ndarray, "marks"],
    metrics: Metrics,
    *,
    question: str,
    margin: float | None = None,
    step_size: float | None = None,
) -> Figure:
    """Plot loss, norm, direction and finite part of a decoder in training, with theory curves.

    Args:
        steps: the marks; a mark at 0 is left out, since time is drawn on a log scale.
        metrics: metrics of ``run_trajectory`` for one run; directions are compared with the
            reference for each norm in it.
        question: the figure's title.
        margin: γ of the Frobenius norm. Together with a step size it adds the predictions CE - H ->
            1 / (γ² η k) and ‖P_⊥W‖ growing by (1/γ) log k.
        step_size: η of plain gradient descent with a constant step. None for any other method: the
            predictions, including that ‖P_F W − W*‖ falls as 1/k, hold only for gradient descent
            and are then omitted.
    """
    kept = np.asarray(steps) > 0
    k, m = np.asarray(steps)[kept], {name: v[kept] for name, v in metrics.items()}
    figure, axes = new_figure(2, 2, size=(8.6, 8.0))
    add_question(figure, question)
    theory = None if margin is None or step_size is None else 1 / (margin**2 * step_size * k)
    _draw_loss(axes[0, 0], k, m, theory)
    _draw_size(axes[0, 1], k, m, None if step_size is None else margin)
    directions = _draw_directions(axes[1, 0], k, m)
    _draw_finite(axes[1, 1], k, m, predicted=step_size is not None)
    add_titles(
        axes.ravel(),
        (
            "Cross entropy above its bound, nats",
            "Size of the decoder",
            directions,
            "Finite part: distance from W*",
        ),
    )
    for ax in axes.ravel():
        ax.set_xscale("log")
        ax.set_xlabel("step")
        add_panel_legend(ax)
    return figure


def _draw_loss(ax: Axes, k: np.ndarray, m: Metrics, theory: np.ndarray | None) -> None:
    ax.plot(k, m["excess_loss"], color="black", label="CE − H")
    ax.plot(k, m["leak_loss"], color=SPARE_COLOURS[0], label="leak out of supports")
    ax.plot(k, m["in_support_loss"], color=SPARE_COLOURS[1], label="KL inside supports")
    if theory is not None:
        ax.plot(
            k, theory, color=THEORY_COLOUR, linestyle="--", label=r"theory $1/(\gamma^2\eta k)$"
        )
    ax.set_yscale("log")


def _draw_size(ax: Axes, k: np.ndarray, m: Metrics, margin: float | None) -> None:
    ax.plot(k, m["norm"], color="black", label="‖W‖")
    ax.plot(k, m["norm_across"], color=SPARE_COLOURS[0], label="‖P⊥W‖, which diverges")
    ax.plot(k, m["norm_along"], color=SPARE_COLOURS[1], label="‖P_F W‖, which converges")
    if margin is not None:  # the slope is predicted; the offset is that of the last mark
        line = m["norm_across"][-1] + (np.log(k) - np.log(k[-1])) / margin
        shown = line >= 0
        ax.plot(k[shown], line[shown], color=THEORY_COLOUR, linestyle="--", label="slope 1/γ")


def _draw_directions(ax: Axes, k: np.ndarray, m: Metrics) -> str:
    """Draw the metrics of the direction; return the panel's title."""
    norms = [norm for norm in _NORM_COLOURS if f"cosine_{norm}" in m]
    if not norms:
        ax.plot(k, m["margin_frobenius"], color="black", label="normalised margin of P⊥W")
        return "Margin in the Frobenius norm"
    widths = (3.8, 3.0, 2.2, 1.4)[-len(norms) :]  # so that no line hides another
    for width, norm in zip(widths, norms, strict=True):
        shown = [
            (f"cosine_{norm}", "1 − cos(W, W_mm)", "-"),
            (f"margin_ratio_{norm}", "1 − margin / γ", ":"),
        ]
        if len(norms) == 1:
            shown.insert(1, (f"cosine_minus_finite_{norm}", "1 − cos(W − W*, W_mm)", "--"))
        for name, label, style in shown:
            if name in m:
                ax.plot(
                    k,
                    1 - m[name],
                    color=_NORM_COLOURS[norm],
                    linestyle=style,
                    linewidth=width,
                    label=f"{label}, {norm}",
                )
    ax.set_yscale("log")
    ax.set_ylim(bottom=1e-6)
    return "Direction, against max-margin matrices"


def _draw_finite(ax: Axes, k: np.ndarray, m: Metrics, *, predicted: bool) -> None:
    error = m["finite_error"]
    ax.plot(k, error, color="black", label="‖P_F W − W*‖")
    if error[-1] > 0:
        ax.set_yscale("log")
    if predicted and error[-1] > 0:
        ax.plot(k, error[-1] * k[-1] / k, color=THEORY_COLOUR, linestyle="--", label="slope −1")
        ax.set_ylim(top=3 * error.max())
