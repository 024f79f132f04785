"""Where results go: paths are checked first; files appear together and complete, or not at all.

The system renames one file at a time. A process that is killed between two renames leaves some
outputs in place and the others in the hidden folder. `--out` comes last, so if it is new, all
others are.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

PICTURES = (".png", ".svg", ".pdf")
# This one is renamed last: if it is new, so are the others.
LAST = "--out"
PAGES = (".html", ".htm")
SUFFIXES = {"--plot": PICTURES, "--report": PAGES}
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_outputs(outputs: Mapping[str, str], inputs: Mapping[str, str]) -> dict[str, Path]:
    """Return the path of each output, by option; - is no file.

    Raise for one that cannot be written or would overwrite another file.
    """
    paths = {option: Path(path) for option, path in outputs.items() if path != "-"}
    read = {what: Path(path) for what, path in inputs.items() if path != "-"}
    for i, (option, path) in enumerate(paths.items()):
        if path.is_dir():
            raise click.UsageError(f"{option} {path} is a folder; name a file.")
        if not path.absolute().parent.is_dir():
            raise click.UsageError(
                f"{option} {path}: there is no folder {path.parent}; make it first."
            )
        if not os.access(path.absolute().parent, os.W_OK):
            raise click.UsageError(
                f"{option} {path}: nothing can be written to the folder {path.parent}."
            )
        for what, other in [*read.items(), *list(paths.items())[:i]]:
            if _same(path, other):
                raise click.UsageError(f"{option} {path} is the same file as {what}; name another.")
        check_suffix(option, path, SUFFIXES.get(option, ()))
    return paths


def _same(a: Path, b: Path) -> bool:
    """Return whether two paths are one file, also through links."""
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


def check_suffix(option: str, path: Path, suffixes: Sequence[str]) -> None:
    """Raise for a file with another suffix than these; without any, all are allowed."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise click.UsageError(f"{option} {path}: its suffix must be one of {', '.join(suffixes)}.")


@contextmanager
def staged(paths: Mapping[str, Path]) -> Iterator[dict[str, Path]]:
    """Give temporary paths to write to; when all are written, they replace the real ones.

    If writing fails, none does. A temporary file has the suffixes of the real one and lies in a
    hidden folder beside it, so that it moves in one step.
    """
    # A link stays a link: its target is replaced.
    targets = {option: path.resolve() for option, path in paths.items()}
    folders: dict[Path, Path] = {}
    try:
        for target in targets.values():
            if target.parent not in folders:
                folders[target.parent] = Path(
                    tempfile.mkdtemp(dir=target.parent, prefix=".clustertrust-")
                )
        standins = {
            option: folders[target.parent] / target.name for option, target in targets.items()
        }
        yield standins
        for option, target in targets.items():
            with standins[option].open("rb+") as file:
                os.fsync(file.fileno())
            standins[option].chmod(_mode(target))
        for option in sorted(targets, key=lambda option: option == LAST):
            standins[option].replace(targets[option])
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        names = ", ".join(str(path) for path in paths.values())
        raise OSError(
            f"{os.strerror(error.errno)}: {names} could not be written, and nothing of it is left."
        ) from error
    finally:
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)


def _mode(target: Path) -> int:
    """Return the permissions of the file to replace, else those of any new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
