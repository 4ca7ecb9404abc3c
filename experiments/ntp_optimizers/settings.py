"""The methods compared, and the norm in which each takes steps of steepest descent."""

from el_jax.linear_ntp.norms import Norm

NORMS: dict[Norm, str] = {"frobenius": "Frobenius", "max": "max", "spectral": "spectral"}
OWN_NORM: dict[str, Norm] = {
    "gd": "frobenius",
    "ngd": "frobenius",
    "sign": "max",
    "adam": "max",
    "spectral": "spectral",
    "muon": "spectral",
}
NAMES = {  # of the methods, for readers
    "gd": "gradient descent",
    "ngd": "normalised GD",
    "sign": "sign descent",
    "adam": "Adam",
    "spectral": "spectral descent",
    "muon": "Muon",
}


def setting_name(method: str, support_size: int) -> str:
    """The name of a setting in tables, such as ``sign, S=1``."""
    return f"{method}, S={support_size}"
