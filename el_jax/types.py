"""The few types that all packages share, and the glossary of dimension letters.

Letters, the same everywhere:

=====  ==========================================================================
``B``  windows in a batch
``T``  tokens in a window
``P``  supervised positions in a window (those whose next token is trained on)
``V``  vocabulary size, the number of classes of every logit vector
``D``  width of the residual stream
``E``  width of the head's input, and of the token table; mostly D
``H``  attention heads; ``KV`` key-value heads
``K``  size of one head
``F``  width of the MLP
``N``  layers
``R``  runs trained at once (seeds x sweep points)
``G``  groups of a task (easy, hard)
=====  ==========================================================================

Losses are in nats.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, Key as KeyOf

Params = Any  # a pytree of float arrays
Key = KeyOf[Array, ""]  # one typed PRNG key


class Batch(NamedTuple):
    """Windows of tokens and the positions at which the next token is supervised.

    Attributes:
        tokens: the model's input, ``[B, T]``.
        supervised: the positions whose next token is trained on or measured, ``[B, P]``.
        labels: the correct next token at each supervised position, ``[B, P]``.
        mask: False for supervised slots that are only padding, ``[B, P]``.
        groups: index of the group each supervised token belongs to, ``[B, P]``.
        positions: position fed to the position embedding; None means 0..T-1.
        documents: document index of each token; attention stays inside a document.
            None means the whole window is one document.
    """

    tokens: Int[Array, "B T"]
    supervised: Int[Array, "B P"]
    labels: Int[Array, "B P"]
    mask: Bool[Array, "B P"]
    groups: Int[Array, "B P"]
    positions: Int[Array, "B T"] | None = None
    documents: Int[Array, "B T"] | None = None


class Readout(NamedTuple):
    """Factors of the logits: ``hidden @ head + bias``, summed in float32.

    Attributes:
        hidden: the last hidden state at each supervised position, ``[B, P, E]``, in the number
            format of the product.
        head: one column per class, ``[E, V]``, in the same format.
        bias: bias of each class, ``[V]`` in float32, or None.
    """

    hidden: Float[Array, "B P E"]
    head: Float[Array, "E V"]
    bias: Float[Array, " V"] | None


class ModelFns(NamedTuple):
    """A network as pure functions; nothing outside ``models/`` sees a module.

    Attributes:
        init: ``init(key) -> params``, float32 leaves.
        apply: ``apply(params, batch, key=None) -> logits [B, P, V]`` in float32, at the
            supervised positions only. A key turns on dropout.
        attention: ``attention(params, batch) -> weights [N, B, H, P, T]``, the attention weights
            of the query at each supervised position in each layer; None for models without
            attention.
        readout: ``readout(params, batch, key=None) -> Readout``, the factors of the logits that
            ``apply`` returns; None for models whose logits are not such a product.
        head_width: E of that readout.
        matmul_precision: precision of the product, "default" or "highest".
        features: ``features(params, batch) -> [B, T, D]`` in float32, the vector of every token
            after the last layer and its norm, before any part of the head (BERT's transform, a
            projection); None for models without hidden states.
        layers: names of the parameters' subtrees that its functions also accept in boxes, see
            ``models.ShardedParam``.
        look: ``look(params, batch, patch) -> Trace``, called by ``el_jax.look``; None for models
            without blocks.
    """

    init: Callable[[Key], Params]
    apply: Callable[..., Array]
    attention: Callable[[Params, Batch], Array] | None = None
    readout: Callable[..., Readout] | None = None
    head_width: int = 0
    matmul_precision: str = "default"
    features: Callable[[Params, Batch], Array] | None = None
    layers: tuple[str, ...] = ()
    look: Callable[..., Any] | None = None


Row = dict[str, np.ndarray]  # metric name -> one value per run, [R]


class Probe(NamedTuple):
    """A further measurement of a model; has one or both functions.

    Attributes:
        of_params: maps parameters, each leaf ``[R, ...]``, to named values, each ``[R]``; called
            at every evaluation.
        of_split: maps the numbers of one split, named without the split, to further numbers.
    """

    of_params: Callable[[Params], dict[str, Array]] | None = None
    of_split: Callable[[Row], Row] | None = None


class Estimate(NamedTuple):
    """A number estimated from samples, ``[]`` or one a run, ``[R]``.

    Attributes:
        mean: the estimate.
        sem: its standard error.
    """

    mean: Array
    sem: Array
