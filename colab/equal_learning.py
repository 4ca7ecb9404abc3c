# %% [markdown]
# # Equal learning: which solution does training pick?
#
# Many solutions fit the same next-token data. Cross-entropy tends to one that leans on whatever is
# easiest to learn and memorises the rest. The losses **E1, E2, E3** (Yang, Puli and Ranganath 2025)
# bound the margin of every token; with a warm-up they should learn easy and hard tokens alike.
#
# This notebook trains a small transformer with each loss and shows what it learns. It needs no
# account, and no download but the code itself. Run the cells from top to bottom.

# %%
# Install. Where the package is importable already this does nothing. Anywhere else, put the address
# of the git repository between the quotes (or into the environment variable EL_JAX_REPOSITORY).
REPOSITORY = ""

import importlib
import importlib.metadata
import os
import pathlib
import subprocess
import sys


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def fetch(repository: str) -> pathlib.Path:
    """Clones the repository here and installs what it needs, all but jax itself."""
    if not repository:
        raise RuntimeError(
            "el_jax is not importable: set REPOSITORY to the address of its repository."
        )
    clone = pathlib.Path.cwd() / "el_jax_clone"
    if not clone.exists():
        run("git", "clone", "--quiet", "--depth=1", repository, str(clone))
    # What runs need is listed before what tests need. The jax of this machine fits its accelerator,
    # so no package may bring another one.
    listed = (clone / "requirements.txt").read_text().split("# tests")[0].splitlines()
    wanted = [name for name in (line.split("#")[0].strip() for line in listed) if name]
    packages = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}
    held = [f"{name}=={packages[name]}" for name in ("jax", "jaxlib") if name in packages]
    (clone / "held.txt").write_text("\n".join(held))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", f"--constraint={clone / 'held.txt'}"]
    run(*pip, *wanted)
    return clone


try:
    from el_jax import __version__
except ImportError:
    here = pathlib.Path.cwd()
    inside = [folder for folder in (here, *here.parents) if (folder / "el_jax/types.py").exists()]
    root = inside[0] if inside else fetch(REPOSITORY or os.environ.get("EL_JAX_REPOSITORY", ""))
    sys.path.insert(0, str(root))
    sys.modules.pop("el_jax", None)
    importlib.invalidate_caches()
    from el_jax import __version__
print("el_jax", __version__)

# %%
# Device. With WANT = "tpu" or "gpu" the notebook stops here if there is none, instead of going on
# slowly without it (the environment variable WANT does the same).
WANT = "any"  # @param ["any", "tpu", "gpu"]

import os

import jax

wanted = os.environ.get("WANT", WANT)
if wanted not in ("any", "tpu", "gpu"):
    raise ValueError(f'WANT={wanted!r}, must be "any", "tpu" or "gpu".')
print(f"jax {jax.__version__} on {jax.devices()}")
if wanted not in ("any", jax.default_backend()):
    raise RuntimeError(
        f"WANT={wanted!r}, but jax finds only {jax.devices()}. In Colab choose one under Runtime > "
        'Change runtime type and run all cells again; or go on without it: WANT = "any".'
    )
