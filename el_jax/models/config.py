"""The switches of the one transformer, each checked when it is set."""

import dataclasses
import math
from typing import Any

_CHOICES = {
    "norm": ("layernorm", "rmsnorm"),
    "norm_placement": ("pre", "post"),
    "position": ("rope", "learned", "none"),
    "activation": ("gelu", "gelu_tanh", "relu", "silu"),
    "init": ("normal", "width", "gpt2", "neox"),
    "dtype": ("float32", "bfloat16"),
    "matmul_precision": ("default", "highest"),
    "attention_impl": ("xla", "cudnn"),
}
_EXACT = {"dtype": "float32", "attention_impl": "xla", "matmul_precision": "highest"}
_POSITIVE_INTEGERS = ("vocab_size", "width", "num_layers", "num_heads", "max_length")
_OPTIONAL_POSITIVE_INTEGERS = ("num_kv_heads", "head_size", "mlp_width", "embedding_width")
_NATURAL_NUMBERS = ("position_offset", "num_token_types")
_POSITIVE_NUMBERS = ("norm_epsilon", "rotary_base", "init_std", "mlp_ratio")
_RATES = ("embedding_dropout", "attention_dropout", "residual_dropout")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """A transformer, from token ids to logits; the defaults are GPT-NeoX (Black et al. 2022).

    Attributes:
        vocab_size: V, the number of token ids and of classes.
        width: D, the size of the residual stream.
        num_layers: N, at least one.
        num_heads: H, query heads.
        num_kv_heads: KV, key-value heads, each shared by ``H / KV`` query heads (Ainslie et al.
            2023, arXiv 2305.13245); None means H.
        head_size: K; None means ``width / num_heads``.
        mlp_width: F; None means ``mlp_ratio * width``, rounded.
        mlp_ratio: F / D where ``mlp_width`` is None.
        embedding_width: width of the token table; where it differs from ``width`` (OPT-350m),
            bias-free projections lead in and out. None means ``width``.
        max_length: number of positions in the learned table; rotary positions ignore it.
        norm: "layernorm" (scale and bias) or "rmsnorm" (scale).
        norm_epsilon: added to the variance.
        norm_placement: "pre" normalises the input of a branch, "post" the sum after it.
        parallel_residual: attention and MLP read the same input, ``x + attn(x) + mlp(x)``.
        final_norm: normalise before the head.
        embedding_norm: normalise after the embedding.
        position: "rope" (Su et al. 2021, arXiv 2104.09864), "learned", or "none".
        position_offset: rows of the learned table before position 0 (OPT: 2).
        rotary_fraction: share of each head that is rotated, rounded down to a whole number.
        rotary_base: base of the geometric series of frequencies.
        num_token_types: rows of the token-type table (BERT: 2); every token is of type 0.
        activation: the MLP's activation: "gelu" (erf), "gelu_tanh", "relu" or "silu".
        gated_mlp: ``out(activation(gate(x)) * in(x))`` (Shazeer 2020, arXiv 2002.05202).
        attention_bias: biases of queries, keys and values.
        attention_out_bias: bias of the output projection.
        qk_norm: normalise each query and key over its head's entries, before the rotation, so that
            attention logits cannot grow with their matrices (Wortsman et al. 2023, arXiv
            2309.14322; scales are shared by the heads).
        mlp_bias: biases of the MLP.
        tie_head: the head is the token table.
        head_bias: bias of the head.
        head_transform: dense, activation and norm before the head (BERT).
        causal: a token attends to itself and to earlier tokens only.
        init: "normal", ``init_std`` everywhere; "gpt2", the same but ``init_std / sqrt(2 N)`` for
            projections into the residual stream; "width", ``1 / sqrt(D)`` everywhere; "neox",
            ``sqrt(2 / (5 D))``, but ``2 / (N sqrt(D))`` for these projections.
        init_std: standard deviation of "normal" and "gpt2".
        embedding_dropout: rate after the embedding; a rate acts only where ``apply`` gets a key.
        attention_dropout: rate on the attention weights.
        residual_dropout: rate on a branch's addition to the residual stream.
        dtype: number format of matrix products; parameters, norms, softmax, residual stream and
            logits are always float32.
        matmul_precision: "default" or "highest" (no TF32 on GPU, no bfloat16 passes on TPU).
        attention_impl: "xla"; or "cudnn", flash attention in all blocks but the last, for
            bfloat16 on an NVIDIA GPU from Ampere on, which cannot be differentiated twice.
        scan_layers: compile all blocks but the last once and loop over their stacked parameters;
            meant for deep models on accelerators. On CPU the loop costs more than it saves (12
            layers of width 64: step 1.4 times as long, no faster to compile).
        remat_layers: keep only the input of each block but the last for the backward pass and
            recompute the rest: a third more operations, and activations of one block at a time.
    """

    vocab_size: int
    width: int
    num_layers: int
    num_heads: int
    num_kv_heads: int | None = None
    head_size: int | None = None
    mlp_width: int | None = None
    mlp_ratio: float = 4.0
    embedding_width: int | None = None
    max_length: int = 2048
    norm: str = "layernorm"
    norm_epsilon: float = 1e-5
    norm_placement: str = "pre"
    parallel_residual: bool = True
    final_norm: bool = True
    embedding_norm: bool = False
    position: str = "rope"
    position_offset: int = 0
    rotary_fraction: float = 0.25
    rotary_base: float = 10_000.0
    num_token_types: int = 0
    activation: str = "gelu"
    gated_mlp: bool = False
    attention_bias: bool = True
    attention_out_bias: bool = True
    qk_norm: bool = False
    mlp_bias: bool = True
    tie_head: bool = False
    head_bias: bool = False
    head_transform: bool = False
    causal: bool = True
    init: str = "normal"
    init_std: float = 0.02
    embedding_dropout: float = 0.0
    attention_dropout: float = 0.0
    residual_dropout: float = 0.0
    dtype: str = "float32"
    matmul_precision: str = "default"
    attention_impl: str = "xla"
    scan_layers: bool = False
    remat_layers: bool = False

    def __post_init__(self) -> None:
        self._check_fields()
        self._check_heads()
        self._check_position()
        if self.parallel_residual and self.norm_placement == "post":
            self._reject("parallel_residual", "False where norm_placement is 'post'")
        if self.attention_impl == "cudnn" and self.dtype != "bfloat16":
            self._reject("attention_impl", f"'xla' where dtype is {self.dtype!r}, not 'bfloat16'")
        if self.attention_impl == "cudnn" and self.attention_dropout:
            self._reject("attention_impl", "'xla' where attention_dropout is not 0")

    @property
    def kv_heads(self) -> int:
        """KV."""
        return self.num_heads if self.num_kv_heads is None else self.num_kv_heads

    @property
    def head_dim(self) -> int:
        """K."""
        return self.width // self.num_heads if self.head_size is None else self.head_size

    @property
    def mlp_dim(self) -> int:
        """F."""
        return round(self.mlp_ratio * self.width) if self.mlp_width is None else self.mlp_width

    @property
    def embedding_dim(self) -> int:
        """Width of the token table."""
        return self.width if self.embedding_width is None else self.embedding_width

    @property
    def rotary_dim(self) -> int:
        """Number of rotated entries of a head, at most K; 0 without rotary positions."""
        return int(self.rotary_fraction * self.head_dim) if self.position == "rope" else 0

    @property
    def uses_dropout(self) -> bool:
        """True if some dropout rate is positive, so that ``apply`` depends on its key."""
        return any((self.embedding_dropout, self.attention_dropout, self.residual_dropout))

    @property
    def matrix_std(self) -> float:
        """Standard deviation of tables and matrices at initialisation."""
        if self.init == "neox":  # Nguyen & Salazar 2019, arXiv 1910.05895
            return math.sqrt(2 / (5 * self.width))
        return self.width**-0.5 if self.init == "width" else self.init_std

    @property
    def residual_std(self) -> float:
        """Standard deviation of projections into the residual stream at initialisation."""
        if self.init == "neox":  # Wang & Komatsuzaki 2021, GPT-J
            return 2 / (self.num_layers * math.sqrt(self.width))
        if self.init == "gpt2":  # Radford et al. 2019, section 2.3
            return self.init_std / math.sqrt(2 * self.num_layers)
        return self.matrix_std

    def _reject(self, field: str, allowed: str) -> None:
        raise ValueError(f"{field}={getattr(self, field)!r}: must be {allowed}")

    def _check_fields(self) -> None:
        for field, choices in _CHOICES.items():
            if getattr(self, field) not in choices:
                self._reject(field, f"one of {', '.join(map(repr, choices))}")
        for field in _POSITIVE_INTEGERS:
            if not _is_integer(getattr(self, field), at_least=1):
                self._reject(field, "a positive integer")
        for field in _OPTIONAL_POSITIVE_INTEGERS:
            value = getattr(self, field)
            if value is not None and not _is_integer(value, at_least=1):
                self._reject(field, "a positive integer or None")
        for field in _NATURAL_NUMBERS:
            if not _is_integer(getattr(self, field), at_least=0):
                self._reject(field, "an integer from 0")
        for field in _POSITIVE_NUMBERS:
            if not 0 < getattr(self, field) < math.inf:
                self._reject(field, "a positive number")
        for field in _RATES:
            if not 0 <= getattr(self, field) < 1:
                self._reject(field, "in [0, 1)")

        if self.mlp_dim < 1:
            self._reject("mlp_ratio", f"large enough for one entry of width={self.width}")

    def _check_heads(self) -> None:
        if self.num_heads % self.kv_heads:
            self._reject("num_kv_heads", f"a divisor of num_heads={self.num_heads}")
        if self.head_size is None and self.width % self.num_heads:
            self._reject("num_heads", f"a divisor of width={self.width}, or head_size be given")

    def _check_position(self) -> None:
        if not 0 < self.rotary_fraction <= 1:
            self._reject("rotary_fraction", "in (0, 1]")
        if self.position == "rope" and (self.rotary_dim < 2 or self.rotary_dim % 2):
            self._reject(
                "rotary_fraction",
                f"such that an even number of the {self.head_dim} entries of a head, at least 2, "
                f"is rotated, not {self.rotary_dim}",
            )


def _is_integer(value: object, at_least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= at_least


def exact(config: Any) -> Any:
    """The same network in float32, with exact products and twice-differentiable attention.

    Its parameters are the same.

    Args:
        config: dataclass of a transformer, or of a model with some or none of its switches.
    """
    known = {field.name for field in dataclasses.fields(config)}
    return dataclasses.replace(config, **{name: v for name, v in _EXACT.items() if name in known})
