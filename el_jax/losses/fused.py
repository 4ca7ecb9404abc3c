"""Token statistics from hidden states and the output head, without the [tokens, V] logits."""

from collections.abc import Iterable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend.core import Literal as Constant, Var
from jaxtyping import Float, Integer, ScalarLike

from el_jax.losses.gradients import TokenLoss
from el_jax.losses.gram import gram_moments, picked_logits
from el_jax.losses.logit_gradient import SoftmaxMoments, softmax_moments
from el_jax.losses.stats import TokenStats, symmetric_stats, token_stats, wide_labels
from el_jax.losses.vocab_pass import Blocking, PassStats, vocab_pass, wide_type

VOCAB_CHUNK = 2048
OF_SOFTMAX = ("logsumexp", "logsumexp_other", "max_other")
Path = Literal["auto", "plain", "gram", "chunked"]


def fused_stats_and_moments(
    hidden: Float[Array, "*batch D"],
    head: Float[Array, "D V"],
    labels: Integer[Array, "*batch"],
    *,
    bias: Float[Array, " V"] | None = None,
    temperature: ScalarLike = 1.0,
    softmax: bool = True,
    path: Path = "auto",
    vocab_chunk: int = VOCAB_CHUNK,
    precision: str | None = None,
) -> tuple[TokenStats, SoftmaxMoments]:
    """The :func:`token_stats` of the logits ``hidden @ head + bias``, and moments of their softmax.

    ==========  =======================  ==================  ====================================
    path        logits in memory         derivatives         how
    ==========  =======================  ==================  ====================================
    "plain"     T × V                    any, both modes     the product, then ``token_stats``
    "chunked"   T × ``vocab_chunk``      reverse mode only   one pass over blocks of classes
    "gram"      none; with ``softmax``   mean, variance and  quadratic forms; with ``softmax``,
                T × ``vocab_chunk``      label: any          the pass for all other statistics
    ==========  =======================  ==================  ====================================

    Args:
        hidden: the hidden states; with ``head`` in bfloat16, products are summed in float32.
        head: one column per class.
        labels: index of the correct class, 0..V-1. Any other value makes the token's loss NaN.
        bias: added to the logits.
        temperature: the hidden states and the bias are divided by it.
        softmax: True if the loss reads ``logsumexp``, ``logsumexp_other`` or ``max_other`` (see
            :func:`reads`). If not, "gram" makes no pass over tokens × classes and gives
            NaN for them.
        path: see above; "auto" is :func:`choose_path`.
        vocab_chunk: classes in a block; need not divide V.
        precision: precision of the products, as in ``jnp.matmul``.

    Returns:
        The input of every loss and, from the same pass, the moments for a gradient's norm. Only
        "plain" has ``entropy_other``; the other paths give NaN for it. The
        moments are constant under differentiation, and are NaN where the ``softmax`` statistics are
        NaN.

    Raises:
        ValueError: if the shapes disagree, V < 2, a chunk is not positive or ``path`` is unknown.
    """
    num_classes = head.shape[1]
    _check(hidden, head, labels, vocab_chunk)
    labels = wide_labels(labels)
    if path == "auto":
        path = choose_path(head.shape[0], num_classes, softmax=softmax, vocab_chunk=vocab_chunk)
    if path == "plain":
        logits = _logits(hidden, head, bias, precision)
        return _of_logits(logits, labels, temperature)
    blocking = Blocking(min(vocab_chunk, num_classes), precision)
    # The temperature here divides a token's D hidden numbers, not its V logits.
    rows = (hidden / temperature).astype(hidden.dtype).reshape(-1, head.shape[0])
    offsets = None if bias is None else bias.astype(wide_type(rows, head, bias)) / temperature
    if path == "gram":
        flat = _by_gram(rows, head, offsets, labels.reshape(-1), softmax, blocking)
    elif path == "chunked":
        flat = _by_pass(rows, head, offsets, labels.reshape(-1), blocking)
    else:
        raise ValueError(f"path={path!r} must be 'auto', 'plain', 'gram' or 'chunked'")
    return jax.tree.map(lambda leaf: leaf.reshape(labels.shape), flat)


def choose_path(
    width: int, num_classes: int, *, softmax: bool = True, vocab_chunk: int = VOCAB_CHUNK
) -> Path:
    """The fastest path for training with hidden states of size ``width``.

    Below V = 4D the logits are small next to the hidden states and the head, and computing them
    twice, or D² numbers a token, costs more than it saves (Vincent et al. 2015 give the gain of the
    quadratic forms as V/4D). Above, a loss without softmax needs no logits, and a loss with softmax
    takes all its statistics from one pass. If all classes fit in one block, that pass has as many
    logits as "plain" and saves nothing.
    """
    one_block = softmax and num_classes <= vocab_chunk
    if num_classes < 4 * width or one_block:
        return "plain"
    return "chunked" if softmax else "gram"


def reads(loss: TokenLoss, fields: tuple[str, ...] = OF_SOFTMAX) -> bool:
    """True if a loss reads one of these statistics; by default one that needs the softmax.

    The loss is traced, and the operations its result depends on are followed back to the
    statistics; if the loss is jitted, every field passed to it counts as read.
    """

    def result(given: dict[str, Any]) -> Array:
        return loss(symmetric_stats(jnp.ones(()), 2)._replace(**given))

    traced = jax.make_jaxpr(result)({name: jnp.zeros(()) for name in fields}).jaxpr
    needed = set(_variables(traced.outvars))
    for equation in reversed(traced.eqns):
        if not needed.isdisjoint(equation.outvars):
            needed.update(_variables(equation.invars))
    return not needed.isdisjoint(traced.invars)


def _variables(atoms: Iterable[Var | Constant]) -> list[Var]:
    return [atom for atom in atoms if isinstance(atom, Var)]


def _check(hidden: Array, head: Array, labels: Array, vocab_chunk: int) -> None:
    if hidden.shape[:-1] != labels.shape or hidden.shape[-1] != head.shape[0]:
        raise ValueError(
            f"hidden {hidden.shape}: its leading axes must be those of labels {labels.shape}, its "
            f"last the first of head {head.shape}"
        )
    if head.shape[1] < 2:
        raise ValueError(f"head {head.shape} must have at least 2 classes: a label and another")
    if vocab_chunk < 1:
        raise ValueError(f"{vocab_chunk=} must be positive")


def _logits(hidden: Array, head: Array, bias: Array | None, precision: str | None) -> Array:
    wide = wide_type(hidden, head)
    logits = jnp.matmul(hidden, head, precision=precision, preferred_element_type=wide)
    return logits if bias is None else logits + jnp.expand_dims(bias, range(logits.ndim - 1))


def _of_logits(
    logits: Array, labels: Array, temperature: ScalarLike = 1.0
) -> tuple[TokenStats, SoftmaxMoments]:
    moments = softmax_moments(lax.stop_gradient(logits), labels, temperature=temperature)
    return token_stats(logits, labels, temperature=temperature), moments


def _assemble(
    labels: Array,
    num_classes: int,
    *,
    label_logit: Array,
    logsumexp_other: Array,
    mean: Array,
    variance: Array,
    max_other: Array,
) -> TokenStats:
    in_range = (labels >= 0) & (labels < num_classes)
    label_logit = jnp.where(in_range, label_logit, jnp.nan)
    return TokenStats(
        label_logit=label_logit,
        logsumexp=jnp.logaddexp(label_logit, logsumexp_other),
        logsumexp_other=logsumexp_other,
        mean=mean,
        variance=variance,
        max_other=max_other,
        entropy_other=jnp.full_like(mean, jnp.nan),
        num_classes=num_classes,
    )


def _by_pass(
    hidden: Array, head: Array, bias: Array | None, labels: Array, blocking: Blocking
) -> tuple[TokenStats, SoftmaxMoments]:
    stats = vocab_pass(blocking, hidden, head, bias, labels)
    assembled = _assemble(
        labels,
        head.shape[1],
        label_logit=stats.label_logit,
        logsumexp_other=stats.logsumexp_other,
        mean=stats.mean,
        variance=stats.variance,
        max_other=stats.max_other,
    )
    return assembled, _moments(stats)


def _moments(stats: PassStats) -> SoftmaxMoments:
    return SoftmaxMoments(*map(lax.stop_gradient, (stats.collision, stats.mean_logit)))


def _by_gram(
    hidden: Array,
    head: Array,
    bias: Array | None,
    labels: Array,
    softmax: bool,
    blocking: Blocking,
) -> tuple[TokenStats, SoftmaxMoments]:
    mean, variance = gram_moments(hidden, head, bias, precision=blocking.precision)
    logsumexp_other = max_other = unknown = jnp.full_like(mean, jnp.nan)
    moments = SoftmaxMoments(unknown, unknown)
    if softmax:
        of_pass = vocab_pass(blocking, hidden, head, bias, labels)
        logsumexp_other, max_other = of_pass.logsumexp_other, of_pass.max_other
        moments = _moments(of_pass)
    stats = _assemble(
        labels,
        head.shape[1],
        label_logit=picked_logits(hidden, head, bias, labels),
        logsumexp_other=logsumexp_other,
        mean=mean,
        variance=variance,
        max_other=max_other,
    )
    return stats, moments
