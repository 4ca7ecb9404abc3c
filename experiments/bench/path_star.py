"""Path-star graphs drawn on the device, against drawing them one by one in Python.

The other side is the procedure of github.com/gregorbachmann/Next-Token-Failures, data/graphs.py,
written anew: each label is one call of NumPy's generator, drawn again while it is taken, the edges
are shuffled, and the graph is written as a line of text, which a training there tokenises. Left out
are a list of other labels, which nothing there reads, and files; tokens are found by a regular
expression rather than letter by letter. So both sides end with the tokens of their graphs, and the
lines alone are timed beside it.
"""

import itertools
import random
import re
from collections.abc import Callable
from functools import partial

import jax
import numpy as np

from el_jax.tasks import PathStar
from experiments.bench.paired import Benchmark, Case, Timing, Values, compare, seconds_of

Graph = tuple[list[tuple[int, int]], list[int]]  # edges in the order of the line, and the path
_TOKENS = re.compile(r"\d+|[|=/]")


def measure(case: Case, num_graphs: int, rounds: int) -> Values:
    """Time of graphs one by one over that of the same number on the device, as windows."""
    task = PathStar(**case)
    ours, values = _on_device(task, num_graphs), Values()
    for name, side in (("lines", line_of), ("tokens", tokens_of)):
        found = compare(ours, _one_by_one(task, num_graphs, side), rounds)
        values[f"{name} one by one / windows on the device"] = found.ratios
        values[f"{name} one by one, µs a graph"] = 1e6 * found.second_seconds / num_graphs
    values["windows on the device, µs a graph"] = 1e6 * found.first_seconds / num_graphs
    return values


def _on_device(task: PathStar, num: int) -> Timing:
    """Graphs drawn and packed into windows, as an update reads them."""
    keys = iter(jax.random.split(jax.random.key(0), 100_000))
    draw = jax.jit(lambda key: task.pack(task.sample(key, num)))
    return seconds_of(lambda: draw(next(keys)))


def _one_by_one(task: PathStar, num: int, side: Callable[[PathStar, Graph], object]) -> Timing:
    rng, shuffler = np.random.RandomState(0), random.Random(0)
    draw = partial(draw_graph, task, rng, shuffler)
    return seconds_of(lambda: [side(task, draw()) for _ in range(num)] and None)


def draw_graph(task: PathStar, rng: np.random.RandomState, shuffler: random.Random) -> Graph:
    """A graph by the reference's procedure; labels are drawn one a call."""

    def label() -> int:
        return rng.randint(0, task.num_nodes, 1)[0]

    start, goal = label(), label()
    while goal == start:
        goal = label()
    path = [start]
    while len(path) < task.path_length - 1:
        node = label()
        if node not in path and node != goal:
            path.append(node)
    path.append(goal)
    edges = list(itertools.pairwise(path))
    taken: set[int] = set()
    for _ in range(task.degree - 1):
        before, drawn = start, 1
        while drawn < task.path_length:
            node = label()
            if node not in taken and node not in path:
                edges.append((before, node))
                taken.add(node)
                before, drawn = node, drawn + 1
    shuffler.shuffle(edges)
    return edges, path


def line_of(_: PathStar, graph: Graph) -> str:
    """The graph as a line of a file."""
    edges, path = graph
    told = "|".join(f"{a},{b}" for a, b in edges)
    return f"{told}/{path[0]},{path[-1]}={','.join(map(str, path))}"


def tokens_of(task: PathStar, graph: Graph) -> list[int]:
    """The tokens of the graph's line."""
    bar, equals, slash, _ = task.special_ids
    special = {"|": bar, "=": equals, "/": slash}
    words = _TOKENS.findall(line_of(task, graph))
    return [special[word] if word in special else int(word) for word in words]


def _star(degree: int, length: int, num_nodes: int = 50) -> dict[str, Case]:
    case = {"degree": degree, "path_length": length, "num_nodes": num_nodes}
    return {f"G({degree},{length}), {num_nodes} labels": case}


_CASES = {**_star(2, 3), **_star(5, 3), **_star(5, 5)}
BENCHMARK = Benchmark(
    measure,
    {
        "smoke": (_star(2, 3, 10), 8, 1),
        "cpu": (_CASES, 4096, 15),
        "gpu": (_CASES, 65_536, 15),
    },
    one_core=True,
)
