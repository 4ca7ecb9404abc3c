"""Networks as pure functions; the only room that knows flax.

A model is one file, ``model(config: ITS_DATACLASS) -> ModelFns``, and one line of ``MODELS``; the
dataclass has the network's numbers and a ``vocab_size``, which the task sets. Set ``causal`` to
False for a bidirectional model; it is refused for next-token tasks, whose labels it could read.
``PRESETS`` has the published transformers, and ``FAMILIES`` one of each kind. ``enlarge`` rewrites
a small transformer as a large one.
"""

from collections.abc import Callable

from el_jax.models.bidirectional_lstm import BidirectionalLSTMConfig, bidirectional_lstm
from el_jax.models.config import TransformerConfig, exact
from el_jax.models.functions import logits_of
from el_jax.models.lookup_table import LookupTableConfig, lookup_table
from el_jax.models.lstm import LSTMConfig, lstm
from el_jax.models.presets import FAMILIES, PRESETS
from el_jax.models.sharded_param import ShardedParam
from el_jax.models.surgery import enlarge, replication
from el_jax.models.transformer import transformer
from el_jax.types import ModelFns

MODELS: dict[str, Callable[..., ModelFns]] = {
    "transformer": transformer,
    "lstm": lstm,
    "bidirectional_lstm": bidirectional_lstm,
    "lookup_table": lookup_table,
}
