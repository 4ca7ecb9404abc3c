"""The models and devices for which cuDNN's fused attention is used."""

from typing import Literal, NamedTuple

from el_jax.models.config import TransformerConfig

CUDNN_CAPABILITY = 8  # lowest that its fused attention supports: Ampere


class AttentionChoice(NamedTuple):
    """The attention that a model uses, and the reason for the choice.

    Attributes:
        impl: the implementation.
        reason: the reason, in a few words.
    """

    impl: Literal["xla", "cudnn"]
    reason: str

    def __str__(self) -> str:
        return f"{self.impl}: {self.reason}"


def attention_choice(
    config: TransformerConfig, platform: str, capability: str = ""
) -> AttentionChoice:
    """The attention that a model uses on a kind of device.

    Args:
        config: the model; its ``attention_impl`` "auto" is resolved here.
        platform: the name in ``jax.default_backend()``: "cpu", "gpu" or "tpu".
        capability: the GPU's, as jax gives it: "7.5", or "gfx90a" for AMD; empty if not known.
    """
    if config.attention_impl == "cudnn":
        return AttentionChoice("cudnn", "asked for")
    if config.attention_impl == "xla":
        return AttentionChoice("xla", "asked for")
    if platform not in ("gpu", "cuda"):
        return AttentionChoice("xla", f"cuDNN is for NVIDIA GPUs, this is {platform}")
    if capability.startswith("gfx"):
        return AttentionChoice("xla", f"cuDNN is for NVIDIA GPUs, this is {capability}")
    if capability and float(capability) < CUDNN_CAPABILITY:
        has = f"this GPU has compute capability {capability}"
        return AttentionChoice("xla", f"{has}, cuDNN's attention needs {CUDNN_CAPABILITY}")
    if config.cudnn_obstacle:
        return AttentionChoice("xla", config.cudnn_obstacle)
    if config.head_dim > 128:  # which of the larger ones cuDNN takes depends on the card
        return AttentionChoice("xla", f"a head has {config.head_dim} entries, more than 128")
    return AttentionChoice("cudnn", "bfloat16 on an NVIDIA GPU; not in the last block")
