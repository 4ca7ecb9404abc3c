"""One path-star graph that a model memorises (Noroozizadeh et al. 2025, arXiv 2510.26745).

The star is that of :mod:`el_jax.tasks.path_star`, but no window shows all its edges. A window is an
edge whose second end is the answer, ``<EDGE> a b``, or the path to a leaf,
``<PATH> leaf start ... leaf``. Training contains all edges and the paths of some arms; the test
contains the paths of the others.

Nothing in a window reveals the branch, the second node of a path. A model that stores edges as a
lookup ("associative memory") would have to walk the arm back, l - 2 edges in one token. A model
that embeds nodes arm by arm ("geometric memory") can read the branch off the leaf.

Format and splits are those of github.com/Shahriarnz14/Geometric_Memory, ``a=b`` and
``leaf=start,...,leaf``, with a leading token for the kind of window, as is its default.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Int

from el_jax.process.errors import require
from el_jax.tasks.packing import pack_windows
from el_jax.tasks.path_star import place_names
from el_jax.types import Batch, Key

ASKED = ("edges", "edges and paths")
DIRECTIONS = ("both", "away")


class Facts(NamedTuple):
    """Edges and paths of the star, each as a query.

    Attributes:
        about: the query node: an end of an edge, or a leaf, ``[S]``.
        answer: the other end and padding, or the path from the start, ``[S, l]``.
        is_path: whether it is a path, ``[S]``.
    """

    about: Int[Array, "S"]
    answer: Int[Array, "S l"]
    is_path: Bool[Array, "S"]


@dataclass(frozen=True)
class StarInWeights:
    """One path-star graph to memorise. Every update reads the whole training set.

    Attributes:
        degree: d, number of arms.
        path_length: l, nodes of an arm, the start included; at least 2.
        num_held_out: arms whose paths are only in the test; at least 1, below d.
        asked: "edges", as in the paper's tiny graphs, or "edges and paths" in the same update, as
            in its large ones.
        directions: directions of training edges: "both", or only "away" from the start.
        untold: also leave out the edges of held-out arms: then nothing determines their paths.
        data_seed: draws the nodes' places; the graph is the same for all training seeds.
    """

    degree: int = 4
    path_length: int = 5
    num_held_out: int = 1
    asked: str = "edges and paths"
    directions: str = "both"
    untold: bool = False
    data_seed: int = 0
    labels_follow: ClassVar[bool] = True

    def __post_init__(self) -> None:
        degree, length, held_out = self.degree, self.path_length, self.num_held_out
        require("degree", degree, degree >= 2, "at least 2")
        require("path_length", length, length >= 2, "at least 2")
        allowed = f"at least 1 and below degree={degree}"
        require("num_held_out", held_out, 1 <= held_out < degree, allowed)
        require("asked", self.asked, self.asked in ASKED, f"one of {ASKED}")
        require(
            "directions", self.directions, self.directions in DIRECTIONS, f"one of {DIRECTIONS}"
        )
        require("data_seed", self.data_seed, self.data_seed >= 0, "at least 0")

    @property
    def num_nodes(self) -> int:
        """The nodes, n = 1 + d (l - 1), are tokens ``0 .. n - 1``."""
        return 1 + self.degree * (self.path_length - 1)

    @property
    def special_ids(self) -> tuple[int, int, int]:
        """Tokens EDGE, PATH and the padding after an edge."""
        n = self.num_nodes
        return n, n + 1, n + 2

    @property
    def vocab_size(self) -> int:
        """Nodes and the three special tokens."""
        return self.num_nodes + 3

    @property
    def token_names(self) -> list[str]:
        """The name of each token: nodes are numbers."""
        return [*map(str, range(self.num_nodes)), "<EDGE>", "<PATH>", "<FILL>"]

    @property
    def window_length(self) -> int:
        """The kind, the query node, and a path."""
        return 2 + self.path_length

    @property
    def answer_length(self) -> int:
        """Tokens of a path, l; an exact match has all correct. An edge has one."""
        return self.path_length

    @property
    def group_names(self) -> tuple[str, ...]:
        """Edges, and each place on a path: start, branch, node_2, ..., last_node."""
        return "edge", *place_names(self.path_length)

    @property
    def chance(self) -> float:
        """Exact match on a path of a model that looks edges up and guesses the branch, 1/d."""
        return 1 / self.degree

    def arms(self) -> Int[Array, "d l"]:
        """The arms, each from the start to its leaf; the held-out ones come last."""
        nodes = jnp.arange(self.num_nodes, dtype=jnp.int32)
        labels = jax.random.permutation(jax.random.key(self.data_seed), nodes)
        others = labels[1:].reshape(self.degree, -1)
        return jnp.insert(others, 0, labels[0], axis=1)

    def taught_edges(self) -> Int[Array, "e 2"]:
        """The training edges, as pairs (query node, answer)."""
        arms = self.arms()[: self.degree - self.num_held_out * self.untold]
        away = jnp.stack([arms[:, :-1], arms[:, 1:]], axis=-1).reshape(-1, 2)
        return away if self.directions == "away" else jnp.concatenate([away, away[:, ::-1]])

    def train_set(self) -> Facts:
        """The training edges and, if the config says so, the paths of arms not held out."""
        about, answer = self.taught_edges().T
        *_, filling = self.special_ids
        behind = ((0, 0), (0, self.path_length - 1))
        rows = jnp.pad(answer[:, None], behind, constant_values=filling)
        edges = Facts(about, rows, jnp.zeros(len(rows), bool))
        if self.asked == "edges":
            return edges
        told = self._paths(jnp.arange(self.degree - self.num_held_out))
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), edges, told)

    def test_set(self, num: int) -> Facts:
        """Paths of held-out arms in turn, repeated cyclically."""
        return self._paths(self.degree - 1 - jnp.arange(num) % self.num_held_out)

    def pack(self, facts: Facts) -> Batch:
        """Each fact as a window."""
        edge, path, _ = self.special_ids
        kind = jnp.where(facts.is_path, path, edge).astype(jnp.int32)
        windows = jnp.concatenate([kind[:, None], facts.about[:, None], facts.answer], axis=1)
        places = np.arange(self.path_length, dtype=np.int32)
        of_window = jnp.zeros(len(windows), jnp.int32)
        batch = pack_windows(windows, of_window, 1 + places, strings_per_window=1)
        is_path = facts.is_path[:, None]
        return batch._replace(
            mask=is_path | jnp.asarray(places == 0)[None],
            groups=jnp.where(is_path, 1 + jnp.asarray(places)[None], 0),
        )

    def batch_at(self, train_set: Facts, step: int | Int[Array, ""], key: Key) -> Batch:
        """The whole training set, in every update of every run."""
        del step, key
        return self.pack(train_set)

    def render(self, tokens: Int[Array | np.ndarray, "T"]) -> str:
        """Render a window as a line of the repository's files."""
        _, about, *answer = tokens.tolist()
        return f"{about}={','.join(str(node) for node in answer if node < self.num_nodes)}"

    def _paths(self, which: Int[Array, "S"]) -> Facts:
        paths = self.arms()[which]
        return Facts(paths[:, -1], paths, jnp.ones(len(paths), bool))
