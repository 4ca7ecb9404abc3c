"""The files of path-star graphs of github.com/gregorbachmann/Next-Token-Failures.

A line is a graph, ``a,b|c,d|.../start,goal=start,...,goal``, such as
``2,8|5,2|5,9|9,3/5,8=5,2,8`` of ``deg_2_path_3_nodes_10_test_20000.txt``.
"""

import re

import numpy as np
from jaxtyping import Int

_LINE = re.compile(r"\d+,\d+(?:\|\d+,\d+)*/\d+,\d+=\d+(?:,\d+)*")


def read_graphs(
    path: str, degree: int, path_length: int, num_nodes: int
) -> tuple[Int[np.ndarray, "S E 2"], Int[np.ndarray, "S l"]]:
    """Read the graphs of a file.

    Args:
        path: the file.
        degree: d of its graphs.
        path_length: l, nodes of an arm with the start.
        num_nodes: N; labels are below it.

    Returns:
        The edges in their order, and the path of each graph.

    Raises:
        ValueError: there is no such file, or a line is not such a graph; the message has the line's
            number and its fault.
    """
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(getattr(error, "strerror", None) or "must be a text file") from error
    num_edges = degree * (path_length - 1)
    width = 2 * num_edges + 2 + path_length
    rows = [_numbers(line, number, width) for number, line in enumerate(lines, 1)]
    if not rows:
        raise ValueError("must have a graph on each line; it is empty")
    table = np.asarray(rows, np.int32)
    edges = table[:, : 2 * num_edges].reshape(len(rows), num_edges, 2)
    query, nodes = table[:, 2 * num_edges : -path_length], table[:, -path_length:]
    faults = {
        f"labels must be below num_nodes={num_nodes}": (table >= num_nodes).any(1),
        "its path must lead from start to goal of the query": (query != nodes[:, [0, -1]]).any(1),
        f"its start must have degree={degree}": (edges[:, :, 0] == query[:, :1]).sum(1) != degree,
        "its path must follow its edges": ~_follows(edges, nodes),
    }
    for fault, bad in faults.items():
        if bad.any():
            raise ValueError(f"line {bad.argmax() + 1}: {fault}")
    return edges, nodes


def _numbers(line: str, number: int, width: int) -> list[int]:
    """The labels of a line; their number checks the degree and the path's length."""
    if not _LINE.fullmatch(line):
        raise ValueError(f"line {number}: must be a,b|c,d|.../start,goal=start,...,goal")
    labels = re.split(r"[,|/=]", line)
    if len(labels) != width:
        raise ValueError(f"line {number}: must have {width} labels, not {len(labels)}")
    return [int(label) for label in labels]


def _follows(edges: Int[np.ndarray, "S E 2"], nodes: Int[np.ndarray, "S l"]) -> np.ndarray:
    """True for graphs whose path goes along edges, ``[S]``."""
    steps = np.stack([nodes[:, :-1], nodes[:, 1:]], axis=-1)
    return (steps[:, :, None] == edges[:, None]).all(-1).any(2).all(1)
