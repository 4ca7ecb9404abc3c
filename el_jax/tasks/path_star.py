"""The path-star task of Bachmann and Nagarajan (2024, arXiv 2403.06963): find the arm of a goal.

G_{d,l} is a star: d arms of l nodes each, the start among them, all nodes distinct and their labels
random. A window is ``a,b|c,d|.../start,goal=path``: the d (l - 1) edges in random order, the query,
and the path from start to goal, one token per node; commas are not tokens. The model predicts the
path.

Only its second token requires a search: which neighbour of the start leads to the goal? Every other
token follows from the previous one by looking up one edge. With teacher forcing, a model can learn
to look up edges and to guess the branch (the "Clever Hans" solution), with exact match 1/d.

Format and tokens are those of github.com/gregorbachmann/Next-Token-Failures.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Int

from el_jax.process.errors import DataError, require
from el_jax.tasks.draws import draw_distinct, string_keys
from el_jax.tasks.packing import epoch_order, pack_windows
from el_jax.tasks.path_star_files import read_graphs
from el_jax.tasks.sentences import FRESH_TRAIN_SPLIT, TEST, TRAIN
from el_jax.types import Batch, Key

ORDERS = ("forward", "reversed")
TEACHERS = ("forced", "masked", "none", "diffusion")


class Graphs(NamedTuple):
    """Graphs, each with the path to its goal.

    Attributes:
        edges: pairs of nodes, away from the start, in the order of the window, ``[S, E, 2]``.
        path: the nodes from start to goal, ``[S, l]``.
    """

    edges: Int[Array, "S E 2"]
    path: Int[Array, "S l"]


def place_names(path_length: int) -> tuple[str, ...]:
    """Names of the nodes of a path: start, branch, node_2, ..., last_node; or start and branch.

    Metrics by place give the model the correct path so far, which makes the last node easy; the
    probe ``greedy_goal`` measures the end of the path that the model generates itself.
    """
    inner = (f"node_{place}" for place in range(2, path_length - 1))
    return ("start", "branch", *inner, "last_node")[:path_length]


@dataclass(frozen=True)
class PathStar:
    """The path-star task: its graphs, and three changes to training that make it learnable.

    Graph ``i`` of a set depends on the key and on ``i`` only.

    Attributes:
        degree: d, number of arms.
        path_length: l, nodes of an arm, the start included; at least 2.
        num_nodes: N, number of labels, at least 1 + d (l - 1).
        order: order of the path in the answer; "reversed" starts at the goal, so each token follows
            from the one before it without a search.
        teacher: the part of the path that the model reads in training. "forced": all tokens before
            the one that it predicts. "masked": the same, but each is replaced by ``$`` with
            probability ``mask_rate`` in training (Frydenlund 2025, arXiv 2503.10542, who found that
            it makes the task learnable; the rate is ours). "none": ``$`` in place of all, in
            training and test ("teacherless"; the path is then decoded in parallel). "diffusion":
            masked diffusion (arXiv 2602.19980): in training ``$`` replaces a uniform number of
            tokens, at least one, each predicted at its own position by a model that sees both
            sides; in test it replaces all.
        mask_rate: see ``teacher``.
        num_train: training graphs, a multiple of ``graphs_per_update``; 0 draws new ones for every
            update, and the split "train" is then 1,024 other graphs.
        graphs_per_update: graphs one update reads.
        curriculum: updates over which the goal moves from the branch to the end of its arm; the
            places beyond it are ``$`` then and not trained on. 0 for the end from the start.
        test_file: a file of graphs in the format of the repository above, used instead of drawn
            test graphs; empty for none.
        data_seed: seed of the data sets; the run's seed draws, or orders, its updates.
    """

    degree: int = 2
    path_length: int = 3
    num_nodes: int = 50
    order: str = "forward"
    teacher: str = "forced"
    mask_rate: float = 0.5
    num_train: int = 0
    graphs_per_update: int = 256
    curriculum: int = 0
    test_file: str = ""
    data_seed: int = 0

    def __post_init__(self) -> None:
        degree, length, update = self.degree, self.path_length, self.graphs_per_update
        require("degree", degree, degree >= 1, "at least 1")
        require("path_length", length, length >= 2, "at least 2")
        least = 1 + self.num_edges
        allowed = f"at least {least}, the nodes of {degree} arms of path_length={length}"
        require("num_nodes", self.num_nodes, self.num_nodes >= least, allowed)
        require("order", self.order, self.order in ORDERS, f"one of {ORDERS}")
        require("teacher", self.teacher, self.teacher in TEACHERS, f"one of {TEACHERS}")
        require("mask_rate", self.mask_rate, 0 <= self.mask_rate <= 1, "in [0, 1]")
        require("graphs_per_update", update, update >= 1, "at least 1")
        allowed = f"0 or a multiple of graphs_per_update={update}"
        require("num_train", self.num_train, self._is_whole_epoch, allowed)
        plain = self.order == "forward" and self.teacher == "forced"
        allowed = "0, or at least 1 with order='forward' and teacher='forced'"
        fits = self.curriculum == 0 or (self.curriculum >= 1 and plain)
        require("curriculum", self.curriculum, fits, allowed)
        require("data_seed", self.data_seed, self.data_seed >= 0, "at least 0")

    @property
    def labels_follow(self) -> bool:
        """See ``Task``; False for masked diffusion, which predicts a token at its own position."""
        return self.teacher != "diffusion"

    @property
    def num_edges(self) -> int:
        """E = d (l - 1)."""
        return self.degree * (self.path_length - 1)

    @property
    def special_ids(self) -> tuple[int, int, int, int]:
        """Tokens ``|``, ``=``, ``/`` and ``$``; the nodes are ``0 .. N - 1``."""
        n = self.num_nodes
        return n, n + 1, n + 2, n + 3

    @property
    def vocab_size(self) -> int:
        """Nodes and the four special tokens."""
        return self.num_nodes + 4

    @property
    def token_names(self) -> list[str]:
        """The name of each token: nodes are numbers."""
        return [*map(str, range(self.num_nodes)), *"|=/$"]

    @property
    def prefix_length(self) -> int:
        """Tokens up to ``=``, 3 E + 3."""
        return 3 * self.num_edges + 3

    @property
    def window_length(self) -> int:
        """Tokens of edges, query and path."""
        return self.prefix_length + self.path_length

    @property
    def answer_length(self) -> int:
        """Tokens of the path, l; an exact match has all correct."""
        return self.path_length

    @property
    def group_names(self) -> tuple[str, ...]:
        """A group for each place on the path: start, branch, node_2, ..., last_node.

        The branch is the neighbour of the start, the last node if there are two.
        """
        return place_names(self.path_length)

    @property
    def chance(self) -> float:
        """Exact match of a model that looks edges up and guesses the branch."""
        return 1 / self.degree

    def sample(self, key: Key, num: int) -> Graphs:
        """Draw graphs: labels, the order of edges and the goal's arm are uniform."""
        return Graphs(*jax.vmap(self._graph)(string_keys(key, num)))

    def train_set(self) -> Graphs:
        """The training graphs, or stand-ins if every update draws new ones."""
        return self.sample(self._key(TRAIN), self.num_train or FRESH_TRAIN_SPLIT)

    def test_set(self, num: int) -> Graphs:
        """The first ``num`` test graphs.

        Raises:
            DataError: the test file cannot be read.
            ValueError: it has fewer.
        """
        if not self.test_file:
            return self.sample(self._key(TEST), num)
        edges, path = self._from_file()
        if len(path) < num:
            raise ValueError(f"must be at most {len(path)}, the graphs of test_file")
        return Graphs(jnp.asarray(edges[:num]), jnp.asarray(path[:num]))

    def pack(self, graphs: Graphs) -> Batch:
        """Each graph as a window; ``$`` in place of the path's tokens where there is no teacher."""
        hidden = jnp.full(graphs.path.shape, self.teacher in ("none", "diffusion"))
        return self._windows(graphs, hidden)

    def batch_at(self, train_set: Graphs, step: int | Int[Array, ""], key: Key) -> Batch:
        """The windows of an update; the key draws, or orders, the graphs and hides tokens."""
        draw_key, mask_key = jax.random.split(jax.random.fold_in(key, step))
        if self.num_train:
            updates = self.num_train // self.graphs_per_update
            of_epoch = jax.random.fold_in(key, step // updates)
            order = epoch_order(of_epoch, self.num_train, self.graphs_per_update, static=False)
            chosen = order[step % updates]
            graphs = Graphs(train_set.edges[chosen], train_set.path[chosen])
        else:
            graphs = self.sample(draw_key, self.graphs_per_update)
        if self.curriculum:
            return self._with_goal_at(step, graphs)
        if self.teacher not in ("masked", "diffusion"):
            return self.pack(graphs)
        return self._windows(graphs, self._draw_hidden(mask_key, len(graphs.path)))

    def render(self, tokens: Int[Array | np.ndarray, "T"]) -> str:
        """Render a window as a line of the repository's files, with ``$`` for hidden nodes."""
        return re.sub(
            ",?([|=/]),?", r"\1", ",".join(self.token_names[token] for token in tokens.tolist())
        )

    @property
    def _is_whole_epoch(self) -> bool:
        return self.num_train >= 0 and self.num_train % self.graphs_per_update == 0

    def _graph(self, key: Key) -> tuple[Int[Array, "E 2"], Int[Array, "l"]]:
        label_key, edge_key = jax.random.split(key)
        labels = draw_distinct(label_key, 1 + self.num_edges, self.num_nodes)
        start, others = labels[0], labels[1:]
        arms = others.reshape(self.degree, self.path_length - 1)
        before = jnp.insert(arms[:, :-1], 0, start, axis=1)
        edges = jnp.stack([before, arms], axis=-1).reshape(-1, 2)
        # labels are exchangeable: the first arm is as good as any
        order = draw_distinct(edge_key, self.num_edges, self.num_edges)
        return edges[order], jnp.insert(arms[0], 0, start)

    def _prefix(self, graphs: Graphs) -> Int[Array, "S prefix"]:
        """``a,b|c,d|.../start,goal=`` as tokens."""
        bar, equals, slash, _ = self.special_ids
        num = len(graphs.path)
        between = jnp.full((num, self.num_edges, 1), bar, jnp.int32).at[:, -1].set(slash)
        edges = jnp.concatenate([graphs.edges, between], axis=2).reshape(num, -1)
        query = graphs.path[:, jnp.array([0, self.path_length - 1])]
        return jnp.concatenate([edges, query, jnp.full((num, 1), equals, jnp.int32)], axis=1)

    def _draw_hidden(self, key: Key, num_graphs: int) -> Bool[Array, "S l"]:
        """Draw the positions of the path that an update hides."""
        shape = num_graphs, self.path_length
        if self.teacher == "masked":
            return jax.random.bernoulli(key, self.mask_rate, shape)
        num_key, place_key = jax.random.split(key)
        num = jax.random.randint(num_key, (num_graphs, 1), 1, self.path_length + 1)
        return jax.random.uniform(place_key, shape).argsort(axis=1).argsort(axis=1) < num

    def _windows(self, graphs: Graphs, hidden: Bool[Array, "S l"]) -> Batch:
        """Each graph as a window, with ``$`` in place of the path's hidden tokens."""
        asked = graphs.path if self.order == "forward" else graphs.path[:, ::-1]
        first, prefix = self.prefix_length, self._prefix(graphs)
        windows = jnp.concatenate([prefix, asked], axis=1)
        of_string = jnp.zeros(len(windows), jnp.int32)
        places = first - 1 + np.arange(self.path_length)
        batch = pack_windows(windows, of_string, places, strings_per_window=1)
        on_path = jnp.arange(self.path_length, dtype=jnp.int32)
        groups = on_path if self.order == "forward" else on_path[::-1]
        shown = jnp.where(hidden, self.special_ids[-1], asked)
        batch = batch._replace(
            tokens=jnp.concatenate([prefix, shown], axis=1),
            groups=jnp.broadcast_to(groups, batch.labels.shape),
        )
        if self.labels_follow:
            return batch
        return batch._replace(supervised=batch.supervised + 1, mask=hidden)

    def _with_goal_at(self, step: int | Int[Array, ""], graphs: Graphs) -> Batch:
        """Windows whose goal is as far along its arm as the curriculum is at this update."""
        stages = self.path_length - 1
        goal = 1 + jnp.minimum(step * stages // self.curriculum, stages - 1)
        beyond = jnp.broadcast_to(jnp.arange(self.path_length) > goal, graphs.path.shape)
        batch = self._windows(graphs, beyond)
        query = self.prefix_length - 2
        tokens = batch.tokens.at[:, query].set(graphs.path[:, goal])
        return batch._replace(tokens=tokens, mask=batch.mask & ~beyond)

    def _from_file(self) -> tuple[np.ndarray, np.ndarray]:
        try:
            return read_graphs(self.test_file, self.degree, self.path_length, self.num_nodes)
        except ValueError as error:
            raise DataError(f"test_file={self.test_file!r}: {error}") from error

    def _key(self, stream: int) -> Key:
        return jax.random.fold_in(jax.random.key(self.data_seed), stream)
