"""Strict JAX, the same numbers on every machine, and programs compiled once.

The environment set here also reaches the programs and notebooks that tests start.
"""

import gc
import os
import pathlib
import time
from collections.abc import Iterator

_CACHE = (
    pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "el_jax" / "xla"
)
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))
# Small programs are cached too: there are thousands, and they would take most of a second run.
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
# Each worker has one core. LAPACK threads that wait for a core take .07 s for a QR of .0002 s.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # JAX_PLATFORMS=cuda or tpu tests an accelerator
os.environ["MPLBACKEND"] = "Agg"  # figures are files, never windows

import el_jax  # noqa: F401, I001  first: it selects right sums before XLA reads its flags

import hypothesis
import jax
import pytest
from absl import flags

from el_jax.process.compilation import release_freed_memory

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_legacy_prng_key", "error")
jax.config.update("jax_enable_x64", False)
# Two devices, so that sharded code is exercised; on two cores they are no slower than one.
jax.config.update("jax_num_cpu_devices", 2)

if not flags.FLAGS.is_parsed():  # libraries read absl flags that only app.run would parse
    flags.FLAGS.mark_as_parsed()

# A test calls most programs once, and compilation takes longer than the call. XLA reads these flags
# at the first computation; `run.sh --slow` gives other values, and compiles as users do.
LEVEL = "--xla_backend_optimization_level"
given = os.environ.get("XLA_FLAGS", "")
# From jax 0.11 on, one of these flags would end the process, and without it lower levels round a
# run alone and the same run under lax.map differently.
if jax.__version_info__ < (0, 11) and LEVEL not in given:
    os.environ["XLA_FLAGS"] = f"{given} {LEVEL}=0 --xla_cpu_use_fusion_emitters=false"

# JAX's traces are millions of small objects. At Python's defaults their collection took a twelfth
# of the time of tests/losses.
gc.set_threshold(50_000, 20, 20)

MOST_MAPPINGS = 30_000
MOST_MEMORY = 2.5e9  # bytes per worker: two workers and other programs must fit into 16 GB

hypothesis.settings.register_profile("el_jax", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("el_jax")


@pytest.fixture
def float64() -> Iterator[None]:
    """Computes in float64."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def _forget_programs() -> Iterator[None]:
    """Forgets compiled programs before they take too much memory, or too many mappings.

    Each program takes a dozen mappings or more. Linux gives a process 65,530 mappings, and XLA
    crashes if it gets no more. Without this a worker holds 7 GB when it ends.
    """
    yield
    maps, memory = pathlib.Path("/proc/self/maps"), pathlib.Path("/proc/self/statm")
    if not maps.exists():
        return
    resident = int(memory.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if maps.read_bytes().count(b"\n") > MOST_MAPPINGS or resident > MOST_MEMORY:
        jax.clear_caches()
        gc.collect()
        release_freed_memory()


def pytest_collection_finish() -> None:
    """Leaves everything imported so far out of garbage collection."""
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Forgets programs compiled over a month ago, so that the cache does not grow for ever."""
    if hasattr(session.config, "workerinput"):  # one process sweeps, not every worker
        return
    for program in _CACHE.glob("*-cache"):
        if time.time() - program.stat().st_mtime > 30 * 24 * 3600:
            program.unlink()
