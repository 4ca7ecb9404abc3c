"""Models from the Hugging Face hub by name, ``hf:ORG/NAME@REVISION``, downloaded once.

    config.train.init_from = "hf:EleutherAI/pythia-70m@step1000"

Only JSON files, safetensors and merges.txt are fetched: no pickle and no code.
"""

import functools
import pathlib

from el_jax.process.errors import MissingPackageError, PretrainedError

PREFIX = "hf:"
_FILES = ["*.json", "*.safetensors", "merges.txt"]


def local_path(source: str | pathlib.Path) -> pathlib.Path:
    """The folder with a hub model's files; for any other name, the path itself.

    Args:
        source: ``hf:ORG/NAME``, with ``@REVISION`` for a branch, tag or commit; or a path. Files
            already present are not fetched again, and ``HF_HUB_OFFLINE=1`` fetches none.

    Raises:
        MissingPackageError: huggingface_hub is not installed.
        PretrainedError: there is no such model or revision, or it cannot be fetched.
    """
    if not str(source).startswith(PREFIX):
        return pathlib.Path(source)
    return _snapshot(str(source))


@functools.cache  # one revision for everything a command reads, and one request to the hub
def _snapshot(source: str) -> pathlib.Path:
    name, _, revision = source.removeprefix(PREFIX).partition("@")
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError as error:
        raise MissingPackageError(f"{source}: pip install huggingface_hub") from error
    try:
        folder = snapshot_download(name, revision=revision or None, allow_patterns=_FILES)
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        said = next(filter(None, str(error).splitlines()), type(error).__name__)
        raise PretrainedError(f"{source}: {said}") from error
    return pathlib.Path(folder)
