"""Names beside points in the plane, placed so that no line crosses them."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

_TURNS = np.linspace(0, 2 * np.pi, 32, endpoint=False)
_DISTANCES = (11.0, 15.0, 20.0)  # points between a point and the middle of its name
_ENOUGH = 5.0  # points of room around a name; more room has no further benefit
_FONT_SIZE = 9.0  # points
_LETTER = 0.62  # width of a letter over the size of its font


def add_point_labels(
    ax: Axes,
    names: Sequence[str],
    points: Float[np.ndarray, "n 2"],
    ends: Float[np.ndarray, "lines 2"],
) -> None:
    """Write each name beside its point, off the points and off the lines from the origin.

    Among places all around a point it takes the one with the most room; if several have enough, the
    nearest and most outward. Room depends on the current axes: set limits and aspect before.

    Args:
        ax: the axes.
        names: one name per point.
        points: the points.
        ends: every line runs from the origin to one of these.
    """
    box = ax.get_window_extent()
    spans = np.ptp([ax.get_xlim(), ax.get_ylim()], axis=1)
    scale = min(box.width / spans[0], box.height / spans[1]) * 72 / ax.figure.dpi
    obstacles = np.concatenate([_samples(ends * scale), points * scale])
    for name, point in zip(names, points, strict=True):
        place = _place(point * scale, _size(name), obstacles)
        obstacles = np.concatenate([obstacles, _rectangle(place, _size(name))])
        ax.annotate(
            name,
            point,
            xytext=place - point * scale,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=_FONT_SIZE,
            fontweight="bold",
        )


def _samples(ends: Float[np.ndarray, "lines 2"]) -> Float[np.ndarray, "samples 2"]:
    """Places along every line, close to one another."""
    return (np.linspace(0, 1, 101)[:, None, None] * ends).reshape(-1, 2)


def _size(name: str) -> Float[np.ndarray, "2"]:
    """Half the width and half the height of a name, in points; TeX markup takes no room."""
    shown = name.translate(str.maketrans("", "", "$_{}"))
    return np.array([len(shown) * _LETTER, 1.0]) * _FONT_SIZE / 2


def _rectangle(
    centre: Float[np.ndarray, "2"], half: Float[np.ndarray, "2"]
) -> Float[np.ndarray, "25 2"]:
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 5)] * 2), axis=-1).reshape(-1, 2)
    return centre + grid * half


def _place(
    point: Float[np.ndarray, "2"],
    half: Float[np.ndarray, "2"],
    obstacles: Float[np.ndarray, "samples 2"],
) -> Float[np.ndarray, "2"]:
    """The middle of a name, in points."""
    outward = point / max(float(np.linalg.norm(point)), 1e-12)
    best, found = -np.inf, point
    for distance in _DISTANCES:
        for direction in np.stack([np.cos(_TURNS), np.sin(_TURNS)], axis=1):
            centre = point + direction * (distance + abs(direction[0]) * (half[0] - half[1]))
            beyond = np.maximum(np.abs(obstacles - centre) - half, 0)
            room = float(np.linalg.norm(beyond, axis=1).min())
            score = min(room, _ENOUGH) - 0.05 * distance + 0.5 * float(direction @ outward)
            if score > best:
                best, found = score, centre
    return found
