"""Problems with known answers: random, compatible, separable, with closed forms, and infeasible.

Every builder is a pure function of its arguments; a seed goes to ``numpy.random.default_rng``.
The terms are those of Thrampoulidis 2024 (arXiv 2402.18551), Definitions 1 and 2: *compatible*
when some W gives every context its in-support probabilities exactly, *separable* when some W gives
every context equal in-support logits and smaller ones outside.
"""

import numpy as np
from jaxtyping import Bool, Float64

from el_jax.linear_ntp.problems.problem import NTPProblem
from el_jax.process.errors import require


def random_problem(
    num_contexts: int,
    dim: int,
    vocab_size: int,
    support_size: int,
    *,
    seed: int = 0,
    concentration: float = 1.0,
) -> NTPProblem:
    """Gaussian embeddings, random supports of one size, Dirichlet probabilities, uniform π.

    The setting of Appendix A.2 with ``(50, 60, 10, 6)``. Compatible and separable with
    probability 1 when d >= m.

    Args:
        num_contexts: m.
        dim: d; the d m entries of H are standard normal.
        vocab_size: V.
        support_size: S, tokens that follow each context.
        seed: draws H, then the support and the probabilities of each context in turn.
        concentration: parameter of the symmetric Dirichlet distribution; 1 is uniform.

    Raises:
        ValueError: if a number is out of bounds, or a probability that was drawn rounds to 0.
    """
    for name, size in (("num_contexts", num_contexts), ("dim", dim), ("vocab_size", vocab_size)):
        require(name, size, size >= 1, "at least 1")
    fits = 1 <= support_size < vocab_size
    require("support_size", support_size, fits, f"at least 1 and below vocab_size={vocab_size}")
    require("concentration", concentration, 0 < concentration < np.inf, "positive and finite")
    rng = np.random.default_rng(seed)
    embeddings = rng.standard_normal((dim, num_contexts))
    probs = np.zeros((vocab_size, num_contexts))
    for context in range(num_contexts):
        tokens = rng.choice(vocab_size, support_size, replace=False)
        probs[tokens, context] = rng.dirichlet(np.full(support_size, concentration))
    drawn = bool((np.count_nonzero(probs, axis=0) == support_size).all())
    require("concentration", concentration, drawn, "larger: a probability is 0 after rounding")
    return NTPProblem(embeddings, _uniform(num_contexts), probs)


def one_hot_problem(num_contexts: int, dim: int, vocab_size: int, *, seed: int = 0) -> NTPProblem:
    """One next token per context: multiclass classification, with entropy 0 and F = {0}."""
    return random_problem(num_contexts, dim, vocab_size, 1, seed=seed)


def orthonormal_problem(
    num_contexts: int, dim: int, vocab_size: int, support_size: int, *, seed: int = 0
) -> NTPProblem:
    """A :func:`random_problem` with Hᵀ H = I, so that W* and the max-margin W have closed forms.

    W* is ``log P`` less its in-support mean, times Hᵀ; the max-margin matrix is the support less
    its mean over tokens, ``(S - S_j/V)``, times Hᵀ.

    Raises:
        ValueError: if d < m.
    """
    require("dim", dim, dim >= num_contexts, f"at least num_contexts={num_contexts}")
    base = random_problem(num_contexts, dim, vocab_size, support_size, seed=seed)
    basis, _ = np.linalg.qr(base.embeddings)
    return NTPProblem(basis, base.context_probs, base.next_token_probs)


def teacher_problem(
    num_contexts: int,
    dim: int,
    vocab_size: int,
    support_size: int,
    *,
    seed: int = 0,
    scale: float = 1.0,
) -> NTPProblem:
    """Random supports with the probabilities of a linear teacher: compatible for any d.

    Args:
        num_contexts: m.
        dim: d.
        vocab_size: V.
        support_size: S.
        seed: draws H and the supports as :func:`random_problem` does, then the teacher.
        scale: standard deviation of the teacher's logits, in nats.
    """
    base = random_problem(num_contexts, dim, vocab_size, support_size, seed=seed)
    teacher = np.random.default_rng([seed, 1]).standard_normal((vocab_size, dim))
    logits = scale / np.sqrt(dim) * teacher @ base.embeddings
    return _from_support(base.embeddings, base.support, logits)


def facet_problem(
    num_contexts: int,
    dim: int,
    vocab_size: int,
    num_classes: int,
    *,
    seed: int = 0,
    spread: float = 0.5,
) -> NTPProblem:
    """Contexts in classes, each followed by its own tokens: compatible and separable with d << m.

    Class c has a unit vector u_c, its contexts lie within a ball around it that no other class
    reaches, and tokens are dealt to classes in turn. The W whose row z is the vector of the class
    of z separates; the facets of the hull of the u_c bound its classes. Probabilities are those
    of a linear teacher.

    Args:
        num_contexts: m, at least ``num_classes``.
        dim: d, at least 2.
        vocab_size: V, at least ``num_classes``.
        num_classes: at least 2.
        seed: draws the class vectors, the contexts and the teacher.
        spread: radius of the balls, as a fraction below 1 of the radius at which two of them touch.

    Raises:
        ValueError: if an argument is out of bounds.
    """
    if not (2 <= num_classes <= min(num_contexts, vocab_size) and dim >= 2 and 0 <= spread < 1):
        raise ValueError(
            f"num_contexts={num_contexts}, dim={dim}, vocab_size={vocab_size}, "
            f"num_classes={num_classes}, spread={spread}: must have 2 <= num_classes <= "
            "num_contexts and vocab_size, dim >= 2, 0 <= spread < 1"
        )
    rng = np.random.default_rng(seed)
    centres = _unit(rng.standard_normal((dim, num_classes)))
    apart = np.linalg.norm(centres[:, :, None] - centres[:, None, :], axis=0)
    reach = spread * apart[~np.eye(num_classes, dtype=bool)].min() / 2
    context_class = np.arange(num_contexts) % num_classes
    around = _unit(rng.standard_normal((dim, num_contexts))) * rng.random(num_contexts)
    embeddings = centres[:, context_class] + reach * around
    support = np.arange(vocab_size)[:, None] % num_classes == context_class
    teacher = rng.standard_normal((vocab_size, dim))
    return _from_support(embeddings, support, teacher @ embeddings)


def figure1_problem() -> NTPProblem:
    """Three contexts in the plane, five tokens: the supports and the entropy of Figure 1.

    The paper prints neither embeddings nor probabilities. Here the embeddings are unit vectors at
    90, 210 and 330 degrees; the probabilities are round numbers whose entropy, 0.8810 nats, is
    the paper's 0.8811. Words 1 and 5 (rows 0 and 4) follow the same contexts.
    """
    angle = np.deg2rad([90.0, 210.0, 330.0])
    probs = np.zeros((5, 3))
    probs[[0, 1, 4], 0] = 0.6, 0.3, 0.1
    probs[[0, 3, 4], 1] = 0.2, 0.1, 0.7
    probs[[1, 2, 3], 2] = 0.4, 0.5, 0.1
    return NTPProblem(np.stack([np.cos(angle), np.sin(angle)]), _uniform(3), probs)


def antipodal_problem(dim: int = 3, *, seed: int = 0, ratio: float = 2.0) -> NTPProblem:
    """Not separable: two contexts with opposite embeddings and the same support.

    Any W that lifts the support above the other tokens at h_0 lowers it at h_1 = -ratio h_0. The
    probabilities are a linear teacher's, so the data are compatible.

    Raises:
        ValueError: if ``ratio`` is not positive.
    """
    require("ratio", ratio, 0 < ratio < np.inf, "positive and finite")
    direction = np.random.default_rng(seed).standard_normal((dim, 1))
    embeddings = direction * np.array([[1.0, -ratio]])
    support = np.array([[True, True], [True, True], [False, False]])
    teacher = np.random.default_rng([seed, 1]).standard_normal((3, dim))
    return _from_support(embeddings, support, teacher @ embeddings)


def duplicate_problem(dim: int = 3, *, seed: int = 0, same_support: bool = False) -> NTPProblem:
    """Two of three contexts share their embedding.

    Args:
        dim: d, at least 2.
        seed: draws the two distinct embeddings.
        same_support: False gives the twins different supports, which makes the data inseparable
            and leaves them compatible; True gives them one support and different probabilities,
            which makes the data incompatible and leaves them separable.
    """
    distinct = np.random.default_rng(seed).standard_normal((dim, 2))
    twins = [[0.7, 0.3, 0.0, 0.0], [0.2, 0.8, 0.0, 0.0] if same_support else [0.7, 0.0, 0.3, 0.0]]
    probs = np.array([*twins, [0.0, 0.0, 0.5, 0.5]]).T
    return NTPProblem(distinct[:, [0, 0, 1]], _uniform(3), probs)


def crowded_problem(dim: int = 3, *, num_contexts: int | None = None, seed: int = 0) -> NTPProblem:
    """Not compatible: more than d contexts with one support and arbitrary probabilities.

    Each in-support log ratio is a linear function of h, which d + 1 contexts overdetermine. All
    embeddings lie in a half-space, so the data are separable.

    Args:
        dim: d.
        num_contexts: m; d + 2 when None.
        seed: draws embeddings and probabilities.
    """
    m = dim + 2 if num_contexts is None else num_contexts
    rng = np.random.default_rng(seed)
    embeddings = rng.standard_normal((dim, m))
    embeddings[0] = 1 + np.abs(embeddings[0])
    probs = np.zeros((3, m))
    probs[:2] = rng.dirichlet(np.ones(2), size=m).T
    return NTPProblem(embeddings, _uniform(m), probs)


def _from_support(
    embeddings: Float64[np.ndarray, "d m"],
    support: Bool[np.ndarray, "V m"],
    logits: Float64[np.ndarray, "V m"],
) -> NTPProblem:
    """Uniform π, softmax of the logits over each support; ValueError if one rounds to 0."""
    inside = np.where(support, logits, -np.inf)
    weights = np.exp(inside - inside.max(axis=0))
    lost = bool((support & (weights == 0)).any())
    require("largest logit", float(np.abs(logits).max()), not lost, "small enough for exp")
    return NTPProblem(embeddings, _uniform(support.shape[1]), weights / weights.sum(axis=0))


def _uniform(num_contexts: int) -> Float64[np.ndarray, "m"]:
    return np.full(num_contexts, 1 / num_contexts)


def _unit(columns: Float64[np.ndarray, "d m"]) -> Float64[np.ndarray, "d m"]:
    return columns / np.linalg.norm(columns, axis=0)
