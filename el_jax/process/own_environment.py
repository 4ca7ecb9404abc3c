"""Separate Python environments for large packages that few commands need."""

import contextlib
import dataclasses
import importlib.util
import os
import shutil
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path

from el_jax.process.lock import lock


class NoEnvironmentError(RuntimeError):
    """An environment is not available; the message is one line."""


@dataclasses.dataclass(frozen=True)
class OwnEnvironment:
    """An environment in the user's cache folder, made on first use.

    Attributes:
        folder_name: name of its folder.
        contents: its contents, for messages.
        size: size of the installation, such as "1.2 GB".
        choices: arguments for pip, tried in turn.
        check: a program that serves as a smoke test for the environment.
        sees_ours: True if it also sees all packages of this interpreter.
        without_needs: further packages to install without their dependencies.
    """

    folder_name: str
    contents: str
    size: str
    choices: tuple[tuple[str, ...], ...]
    check: str
    sees_ours: bool = False
    without_needs: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Its folder."""
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return home / "el_jax" / self.folder_name

    def python(self, *, install: bool = True) -> str:
        """The path of its interpreter.

        Args:
            install: True if it may be made; otherwise only an existing one is used.

        Raises:
            NoEnvironmentError: it does not exist and may not or cannot be made.
        """
        python = self.folder / "bin" / "python"
        if works(str(python), self.check):
            return str(python)
        if not install:
            raise NoEnvironmentError(f"{self.contents}: not installed")
        try:
            with self._alone():
                if not works(str(python), self.check):  # another process may have made it
                    self._install(python)
        except (OSError, subprocess.CalledProcessError) as error:  # from the disk, venv or pip
            said = getattr(error, "stderr", None) or getattr(error, "output", None) or str(error)
            raise NoEnvironmentError(
                f"{self.contents}: {self.folder} cannot be made ({_last_line(said)})"
            ) from error
        if failed := failure(str(python), self.check):
            raise NoEnvironmentError(
                f"{self.contents}: what is in {self.folder} does not work ({failed}); "
                "delete that folder"
            )
        return str(python)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until no other process is installing it, then keep others out."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with (self.folder.parent / f"{self.folder.name}.lock").open("w") as file:
            lock(file.fileno(), wait=True)
            yield

    def _install(self, python: Path) -> None:
        print(
            f"installing {self.contents} into {self.folder} ({self.size}, once, some minutes) ...",
            flush=True,
        )
        venv.create(self.folder, with_pip=True, clear=True)
        if self.sees_ours:
            (packages,) = self.folder.glob("lib/python*/site-packages")
            (packages / "ours.pth").write_text(f"{_our_packages()}\n")
        try:
            self._pip_install(python)
        except subprocess.CalledProcessError:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _pip_install(self, python: Path) -> None:
        """Install the first choice that pip accepts, and the further packages."""
        command = [str(python), "-m", "pip", "install", "--quiet"]
        for arguments in self.choices:
            done = subprocess.run([*command, *arguments], capture_output=True, check=False)
            if done.returncode == 0:
                break
        done.check_returncode()
        if self.without_needs:
            besides = [*command, "--no-deps", *self.without_needs]
            subprocess.run(besides, capture_output=True, check=True)


def works(python: str, check: str) -> bool:
    """True if the interpreter exists and runs a program without an error."""
    return not failure(python, check)


def failure(python: str, check: str) -> str:
    """The last line of output of a program that fails; empty if it succeeds."""
    try:
        done = subprocess.run([python, "-c", check], capture_output=True, check=False)
    except OSError as error:  # no such file, or one that cannot be executed
        return str(error)
    return _last_line(done.stderr or b"no message") if done.returncode else ""


def _last_line(said: bytes | str) -> str:
    """The last line of a message, which may have another encoding than this process."""
    text = said if isinstance(said, str) else said.decode(errors="replace")
    return (text.strip().splitlines() or [""])[-1][:200]


def _our_packages() -> Path:
    """The folder from which this interpreter imports jax."""
    found = importlib.util.find_spec("jax")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parents[1]
