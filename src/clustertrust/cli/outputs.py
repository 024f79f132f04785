"""Where results go: paths are checked first; files appear together and complete, or not at all.

The system renames one file at a time. Where a rename fails, those that were done are put back. Only
a process that is killed (-9) between two renames leaves some outputs in place and the others in the
hidden folder. `--out` comes last, so if it is new, all others are.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from clustertrust.cli.kinds import OUTPUT

# The same as -
STDOUT = "/dev/stdout"
PICTURES = (".png", ".svg", ".pdf")
# This one is renamed last: if it is new, so are the others.
LAST = "--out"
PAGES = (".html", ".htm")
SUFFIXES = {"--plot": PICTURES, "--report": PAGES}
# Hidden folders in use, and what is held while their files take their places.
_DRAFTS: set[Path] = set()
_MOVING = threading.RLock()
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def typed_files(context: click.Context) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files to write and those to read, by what is typed for them."""
    written: dict[str, str] = {}
    read: dict[str, str] = {}
    for param in context.command.params:
        value = context.params.get(param.name or "")
        if param.type is OUTPUT and value is not None:
            written[param.opts[0]] = "-" if value == STDOUT else value
        elif isinstance(param.type, click.Path) and param.type.exists and value is not None:
            is_option = isinstance(param, click.Option)
            typed = param.opts[0] if is_option else param.human_readable_name
            several = isinstance(value, tuple)
            read |= {f"{typed} {path}": path for path in value} if several else {typed: value}
    return written, read


def check_outputs(outputs: Mapping[str, str], inputs: Mapping[str, str]) -> dict[str, Path]:
    """Return the path of each output, by option; - is no file.

    Raise for one that cannot be written or would overwrite another file.
    """
    paths = {option: Path(path) for option, path in outputs.items() if path != "-"}
    read = {what: Path(path) for what, path in inputs.items() if path != "-"}
    printed = next((option for option, path in outputs.items() if path == "-"), LAST)
    if printed != LAST:
        raise click.UsageError(f"{printed} - cannot be printed; name a file.")
    for i, (option, path) in enumerate(paths.items()):
        check_target(option, path)
        for what, other in [*read.items(), *list(paths.items())[:i]]:
            if same_file(path, other):
                raise click.UsageError(f"{option} {path} is the same file as {what}; name another.")
        check_suffix(option, path, SUFFIXES.get(option, ()))
    return paths


def check_target(option: str, path: Path) -> None:
    """Raise for a path at which no file can be written."""
    if path.is_dir():
        raise click.UsageError(f"{option} {path} is a folder; name a file.")
    if is_special(path):
        mode = path.stat().st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
            raise click.UsageError(f"{option} {path} is not a regular file; name another.")
        if not os.access(path, os.W_OK):
            raise click.UsageError(f"{option} {path}: nothing can be written to it.")
        return
    # Of a link, that of its target.
    folder = path.resolve().parent
    shown = folder if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise click.UsageError(f"{option} {path}: there is no folder {shown}; make it first.")
    if not os.access(folder, os.W_OK):
        raise click.UsageError(f"{option} {path}: nothing can be written to the folder {shown}.")


def is_special(path: Path) -> bool:
    """Return whether something other than a file or a folder is there: a pipe, a device."""
    return path.exists() and not path.is_file() and not path.is_dir()


def same_file(a: Path, b: Path) -> bool:
    """Return whether two paths are one file, also through links."""
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


def check_suffix(option: str, path: Path, suffixes: Sequence[str]) -> None:
    """Raise for a file with another suffix than these; without any, all are allowed."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise click.UsageError(f"{option} {path}: its suffix must be one of {', '.join(suffixes)}.")


@contextmanager
def staged(paths: Mapping[str, Path]) -> Iterator[dict[str, Path]]:
    """Give temporary paths to write to; when all are written, they replace the real ones.

    If writing or a rename fails, none does. A temporary file has the suffixes of the real one and
    lies in a hidden folder next to it, so that it moves in one step. A pipe or a device stays what
    it is, and gets the bytes at the end.
    """
    from clustertrust.storage import replace_file, sync_folder  # loads NumPy

    special = {option: path for option, path in paths.items() if is_special(path)}
    # A link stays a link: its target is replaced.
    targets = {option: path.resolve() for option, path in paths.items() if option not in special}
    folders: dict[Path | None, Path] = {}
    standins: dict[str, Path] = {}
    try:
        for option, path in (special | targets).items():
            parent = None if option in special else path.parent
            if parent not in folders:
                folders[parent] = Path(tempfile.mkdtemp(dir=parent, prefix=".clustertrust-"))
                _DRAFTS.add(folders[parent])
            standins[option] = folders[parent] / path.name
        yield standins
        for option, target in targets.items():
            with standins[option].open("rb+") as file:
                os.fsync(file.fileno())
            standins[option].chmod(_mode(target))
        with _restored_on_failure() as moved:
            with _MOVING:
                for option in sorted(targets, key=lambda option: option == LAST):
                    target, draft = targets[option], standins[option]
                    moved.append((target, _backup_of(target, folders[target.parent]), draft))
                    replace_file(draft, target)
                # So that the new names survive a power cut.
                for parent in {target.parent for target in targets.values()}:
                    sync_folder(parent)
            for option, path in special.items():
                with standins[option].open("rb") as written, path.open("wb") as opened:
                    shutil.copyfileobj(written, opened)
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
            _DRAFTS.discard(folder)


@contextmanager
def _restored_on_failure() -> Iterator[list[tuple[Path, Path | None, Path]]]:
    """Give a list for files that are moved: target, old file if there was one, and draft.

    If anything fails, all targets are as they were.
    """
    moved: list[tuple[Path, Path | None, Path]] = []
    try:
        yield moved
    except BaseException:
        for target, old, draft in moved:
            if draft.exists():  # it was not moved, and Windows may have refused since it is open
                continue
            with suppress(OSError):  # the others are still put back, and the first error is raised
                if old is not None:
                    old.replace(target)
                else:
                    target.unlink(missing_ok=True)
        raise


def _backup_of(target: Path, folder: Path) -> Path | None:
    """Keep a file that is about to be replaced in a folder; there is no moment without it."""
    if not target.exists():
        return None
    old = Path(tempfile.mkdtemp(dir=folder)) / target.name
    try:
        os.link(target, old)
    except OSError:
        # Some file systems have no second names.
        shutil.copy2(target, old)
    return old


def remove_drafts() -> None:
    """Remove what is being written, in a process that ends; wait for renames that have begun."""
    with _MOVING:
        for folder in list(_DRAFTS):
            shutil.rmtree(folder, ignore_errors=True)


def _mode(target: Path) -> int:
    """Return the permissions of the file to replace, else those of any new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
