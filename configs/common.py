"""Shared parts of config files: the argument after the colon, and the sections of a training."""

from typing import Any

from ml_collections import ConfigDict, config_dict

# The numbers each loss takes. E1 and E3: the paper's values for its larger experiments; E2: the
# strength that suits the copy task's 29 classes; the baselines: their papers' usual values.
LOSS_PARAMETERS: dict[str, dict[str, float | str]] = {
    "cross_entropy": {},
    "e1": {"lam": 1.0},
    "e2": {"lam": 4.0, "variance": "all"},
    "e3": {"b": 1.0, "reduction": "sum"},
    "label_smoothing": {"smoothing": 0.1},
    "focal": {"gamma": 2.0},
    "poly1": {"epsilon": 1.0},
    "generalised_cross_entropy": {"q": 0.7},
    "z_loss": {"lam": 1e-4},
    "max_sup": {"alpha": 0.1},
    "marg_log": {"lam": 1.0},
    "sigma_damp": {"temperature": 2.0},
    "spectral_decoupling": {"lam": 0.1},
    "squentropy": {},
    "rescaled_square": {"scale": 1.0, "target": 1.0},
    "logit_penalty": {"beta": 2e-3},
}
E_LOSSES = ("e1", "e2", "e3")

PARALLEL = "jit"  # or pmap: how a training gets onto all devices

# Every switch of the transformer, None for "as the preset has it".
_MODEL_SWITCHES: dict[str, type] = {
    **dict.fromkeys(("num_kv_heads", "head_size", "mlp_width", "embedding_width"), int),
    **dict.fromkeys(("max_length", "position_offset", "num_token_types"), int),
    **dict.fromkeys(("norm", "norm_placement", "position", "activation", "init"), str),
    **dict.fromkeys(("dtype", "matmul_precision", "attention_impl"), str),
    **dict.fromkeys(("norm_epsilon", "rotary_fraction", "rotary_base", "init_std"), float),
    **dict.fromkeys(("embedding_dropout", "attention_dropout", "residual_dropout"), float),
    **dict.fromkeys(("parallel_residual", "final_norm", "embedding_norm", "gated_mlp"), bool),
    **dict.fromkeys(("attention_bias", "attention_out_bias", "mlp_bias"), bool),
    **dict.fromkeys(("tie_head", "head_bias", "head_transform", "causal", "scan_layers"), bool),
}


def parse_arg(arg: str | None, **defaults: Any) -> ConfigDict:
    """Read ``name=value,flag`` as given after the colon of ``--config=file.py:...``.

    A default's type says how its value is read; a bare name sets a flag to True.

    Raises:
        ValueError: unknown name, or a value that does not read as its default's type.
    """
    chosen = dict(defaults)
    for item in filter(None, (arg or "").split(",")):
        name, equals, text = item.partition("=")
        if name not in defaults:
            raise ValueError(
                f"{name!r} is not an argument of this config; it takes {list(defaults)}"
            )
        chosen[name] = _read(name, text if equals else "true", type(defaults[name]))
    return ConfigDict(chosen)


def _read(name: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError(f"{name}={text!r}: must be true or false")
        return text == "true"
    try:
        return kind(text)
    except ValueError as error:
        raise ValueError(f"{name}={text!r}: must be of type {kind.__name__}") from error


def loss(name: str) -> ConfigDict:
    """The loss section: its name, the logits' temperature and path, and the loss's own numbers.

    The path (auto, plain, chunked, gram or remat; see el_jax/losses/fused.py) decides if the logits
    of all classes are in memory. auto avoids that only where classes are many for the width.
    """
    if name not in LOSS_PARAMETERS:
        raise ValueError(f"loss={name!r}: must be one of {', '.join(LOSS_PARAMETERS)}")
    common = {"logit_temperature": 1.0, "path": "auto"}
    return ConfigDict({"name": name, **common, **LOSS_PARAMETERS[name]})


def model(preset: str, width: int, num_layers: int, num_heads: int, **switches: Any) -> ConfigDict:
    """The model section: a preset, its sizes, and every switch open to an override."""
    section = ConfigDict(
        {"preset": preset, "width": width, "num_layers": num_layers, "num_heads": num_heads}
    )
    for name, kind in _MODEL_SWITCHES.items():
        section[name] = config_dict.placeholder(kind)
    section.update(switches)
    return section


def optim(peak_lr: float, warmup_steps: int) -> ConfigDict:
    """The optimizer section: AdamW, linear warm-up, then constant."""
    return ConfigDict(
        {
            "name": "adamw",
            "peak_lr": peak_lr,
            "warmup_steps": warmup_steps,
            "schedule": "constant",
            "decay_fraction": 0.2,  # of the updates after warm-up, where schedule is "wsd"
            "b1": 0.9,
            "b2": 0.999,
            "epsilon": 1e-8,
            "weight_decay": 0.0,
            "clip_norm": 0.0,  # 0: no clipping
        }
    )


def devices() -> dict[str, str | int]:
    """The keys of the train section for several devices."""
    return {
        "shard": "auto",  # or runs, or data (windows of an update), or none: one device
        "reduce_groups": 0,  # G > 0: G groups of windows, summed in the same order on 2..G devices
    }


def sweep() -> ConfigDict:
    """The sweep section: a tuple that is not empty replaces a scalar; all pairs are trained."""
    return ConfigDict({"lam": (), "b": (), "peak_lr": (), "warmup_steps": ()})


def trajectory(num_steps: int, method: str = "gd") -> ConfigDict:
    """The trajectory section of a linear problem: plain gradient descent, or none for 0 steps."""
    section = ConfigDict({"decay": 0.0, "num_steps": max(num_steps, 1), "num_marks": 60})
    section.method = config_dict.placeholder(str)
    section.step_size = config_dict.placeholder(float)  # None: 1 / (2 L)
    if num_steps > 0:
        section.method = method
    return section
