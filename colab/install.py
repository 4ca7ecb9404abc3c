# %% cellView="form"
# @title Install
# Inside a checkout this only finds it; elsewhere, as on Colab, it clones and installs el_jax.
REPOSITORY = ""  # @param {type:"string"}
import importlib.util
import pathlib
import shutil
import sys

here = pathlib.Path.cwd()
folders = (here, *here.parents, here / "el_jax_clone", *map(pathlib.Path, sys.path))
root = next((folder for folder in folders if (folder / "configs/common.py").exists()), None)
if root is None:
    if not REPOSITORY:
        raise SystemExit("Put the address of el_jax's git repository into REPOSITORY.")
    root = here / "el_jax_clone"
    extra = "tpu" if importlib.util.find_spec("libtpu") else "cpu"
    extra = "cuda12" if shutil.which("nvidia-smi") else extra
    # !git clone --quiet --depth=1 {REPOSITORY} {root}
    # %pip install --quiet -r {root}/requirements.txt "jax[{extra}]>=0.10,<0.13"
    print("installed; if jax was imported before, restart the session and run this cell again")
sys.path.insert(0, str(root))

import jax

import el_jax

print(f"el_jax {el_jax.__version__}, jax {jax.__version__} on {jax.devices()}")
