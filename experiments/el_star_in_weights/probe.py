"""The probe ``star_geometry``: is the star recalled, and does its shape lie in the token table?

Importing this module registers the probe, for ``config.imports``.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from el_jax.probes import PROBES
from el_jax.process.compilation import Once
from el_jax.tasks import Facts, StarInWeights, Task
from el_jax.types import ModelFns, Params, Probe


def star_geometry(task: Task, model: ModelFns) -> Probe:
    """Probe recalled edges, and the geometry of the nodes' rows in the token table.

    Cosines and shares are for centred rows and do not depend on the table's scale.

    Raises:
        ValueError: the task is not the star, or the model has no token table.
    """
    if not isinstance(task, StarInWeights):
        raise ValueError(f"needs the task star_in_weights, not {type(task).__name__}")
    if "tok_emb" not in jax.eval_shape(model.init, jax.random.key(0)):
        raise ValueError("needs a model with a token table")
    num = task.num_nodes
    arms, edges = (np.asarray(Once(draw)()) for draw in (task.arms, task.taught_edges))
    answers = np.zeros((num, num), bool)
    answers[tuple(edges.T)] = True
    slow, same, neighbours = slowest_eigenvectors(arms), _same_arm(arms), _neighbours(arms)
    *_, filling = task.special_ids
    blank = jnp.full((num, task.path_length), filling, jnp.int32)
    batch = Once(task.pack)(Facts(jnp.arange(num, dtype=jnp.int32), blank, jnp.zeros(num, bool)))
    off_start = np.arange(num) != arms[0, 0]
    apart = ~(same | neighbours) & np.outer(off_start, off_start) & ~np.eye(num, dtype=bool)

    def probe(params: Params) -> dict[str, Array]:
        logits = model.apply(params, batch)[:, 0, :num]
        rows = params["tok_emb"][:num]
        rows = rows - rows.mean(0, keepdims=True)
        unit = rows / jnp.linalg.norm(rows, axis=1, keepdims=True)
        cosines = jnp.matmul(unit, unit.T, precision="highest")
        in_slow = jnp.matmul(slow.T, rows, precision="highest")
        return {
            "edges_recalled": edges_recalled(logits, answers),
            "spectral_share": jnp.square(in_slow).sum() / jnp.square(rows).sum(),
            "same_arm_cosine": cosines.mean(where=same) - cosines.mean(where=apart),
            "neighbour_cosine": cosines.mean(where=neighbours),
        }

    return Probe(of_params=jax.jit(jax.vmap(probe)))


def edges_recalled(
    logits: Float[Array, "n n"], answers: Bool[np.ndarray, "n n"]
) -> Float[Array, ""]:
    """The share of edges whose answer is among the k largest logits of a node with k answers."""
    rank = jnp.argsort(jnp.argsort(-logits, axis=1), axis=1)
    return (rank < answers.sum(1, keepdims=True)).mean(where=answers)


def slowest_eigenvectors(arms: Int[np.ndarray, "d l"]) -> Float[np.ndarray, "n d-1"]:
    """The d - 1 eigenvectors of the graph's Laplacian with the least eigenvalue above 0.

    They share it; each is 0 at the start and has one sign on each arm, so it separates arms.
    """
    adjacent = _neighbours(arms).astype(float)
    laplacian = np.diag(adjacent.sum(1)) - adjacent
    return np.linalg.eigh(laplacian)[1][:, 1 : len(arms)]


def _neighbours(arms: Int[np.ndarray, "d l"]) -> Bool[np.ndarray, "n n"]:
    """Pairs of nodes joined by an edge, whether it is trained on or not."""
    adjacent = np.zeros((arms.max() + 1, arms.max() + 1), bool)
    adjacent[arms[:, :-1], arms[:, 1:]] = True
    return adjacent | adjacent.T


def _same_arm(arms: Int[np.ndarray, "d l"]) -> Bool[np.ndarray, "n n"]:
    """Pairs of nodes on the same arm, without the start, that are not joined by an edge."""
    same = np.zeros((arms.max() + 1, arms.max() + 1), bool)
    for arm in arms[:, 1:]:
        same[np.ix_(arm, arm)] = True
    return same & ~_neighbours(arms) & ~np.eye(len(same), dtype=bool)


PROBES["star_geometry"] = star_geometry
