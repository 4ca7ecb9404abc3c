"""The arrays of a checkpoint on disk, by orbax; of several processes only the caller takes part."""

import atexit
import pathlib
import re
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

import jax


@runtime_checkable
class State(Protocol):
    """A named tuple of arrays, one of which is the number of updates made."""

    @property
    def step(self) -> Any:
        """Updates made so far, a scalar."""

    def _asdict(self) -> dict[str, Any]: ...


S = TypeVar("S", bound=State)
_STATE = "state"  # orbax's name for the one tree of a checkpoint


def import_orbax() -> None:
    """Import orbax, which takes 0.6 s: call it only after the config was found good."""
    from orbax.checkpoint import v1 as ocp  # noqa: F401


def start_saving(folder: pathlib.Path, state: State) -> Callable[[], None]:
    """Copy the arrays and begin to write them into a new folder; the result waits for the end.

    On several processes the arrays must be NumPy's. Both calls pass on the exceptions of orbax and
    the libraries beneath it.
    """
    if jax.process_count() > 1:
        return _start_saving_alone(folder, state)
    from orbax.checkpoint import v1 as ocp

    return ocp.save_checkpointables_async(_plain(folder), {_STATE: state._asdict()}).result


def _start_saving_alone(folder: pathlib.Path, state: State) -> Callable[[], None]:
    # 2026-11-21, orbax 0.12: v1 makes all processes compare the folder, whichever are to save
    import orbax.checkpoint as ocp

    this = jax.process_index()
    alone = ocp.options.MultiprocessingOptions(primary_host=this, active_processes={this})
    handler = ocp.CompositeCheckpointHandler(
        composite_options=ocp.CompositeOptions(multiprocessing_options=alone),
        **{_STATE: ocp.PyTreeCheckpointHandler(multiprocessing_options=alone)},
    )
    checkpointer = ocp.AsyncCheckpointer(handler, multiprocessing_options=alone)
    tree = ocp.args.PyTreeSave(state._asdict())
    checkpointer.save(_plain(folder), args=ocp.args.Composite(**{_STATE: tree}))
    return checkpointer.close  # waits, and raises errors of the background


def _plain(folder: pathlib.Path) -> pathlib.Path:
    r"""The folder by a path without ``\ [ ] * ?``, which orbax takes for a pattern."""
    if not re.search(r"[\\\[\]*?]", str(folder)):
        return folder
    link = pathlib.Path(tempfile.mkdtemp(prefix="el_jax-")) / "step"
    link.symlink_to(folder.parent, target_is_directory=True)
    atexit.register(shutil.rmtree, link.parent, ignore_errors=True)  # a save may be under way
    return link / folder.name


def load(folder: pathlib.Path, placed: S) -> S:
    """Read the saved arrays; exceptions of orbax and the libraries beneath it pass through.

    Args:
        folder: folder of the arrays.
        placed: shape, type and sharding of every array, on devices of this process.
    """
    from orbax.checkpoint import v1 as ocp

    context = ocp.Context()
    if jax.process_count() > 1:
        this = jax.process_index()
        context.multiprocessing.primary_host = this
        context.multiprocessing.active_processes = {this}
    with context:
        read = ocp.load_checkpointables(_plain(folder), {_STATE: placed._asdict()})[_STATE]
    return type(placed)(**read)
