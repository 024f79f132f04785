"""A disk that fails once: the n-th step that changes a folder raises an error.

Steps are what programs ask of the system: open a file to write, write to it, sync it, rename or link
it, make a folder. Python's audit hooks see all but writes and syncs, for which the functions
themselves are replaced.
"""

import builtins
import errno
import io
import os
import sys
from contextlib import contextmanager
from pathlib import Path

import clustertrust.files

_ACTIVE = []
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Steps:
    """The steps that changed a folder, in order; the n-th raises."""

    def __init__(self, folder, n=None):
        self.folder, self.n, self.done = str(Path(folder).resolve()), n, []

    def take(self, what, path=None):
        if path is not None and not self.holds(path):
            return
        self.done.append(what if path is None else f"{what} {Path(os.fsdecode(path)).name}")
        if len(self.done) == self.n:
            raise OSError(errno.EIO, os.strerror(errno.EIO), *([] if path is None else [str(path)]))

    def holds(self, path):
        if isinstance(path, int):
            return False
        return os.path.abspath(os.fsdecode(path)).startswith(self.folder + os.sep)


def _hook(event, values):
    if not _ACTIVE:
        return
    if event == "open" and isinstance(values[2], int) and values[2] & _WRITES:
        _ACTIVE[0].take("open", values[0])
    elif event in ("os.rename", "os.link"):
        _ACTIVE[0].take(event, values[1])
    elif event == "os.mkdir":
        _ACTIVE[0].take(event, values[0])


sys.addaudithook(_hook)


class _File(io.FileIO):
    def __init__(self, path, mode, steps):
        super().__init__(path, mode)
        self.steps, self.path = steps, path

    def write(self, data):
        if _ACTIVE:
            self.steps.take("write", self.path)
        return super().write(data)


@contextmanager
def failing(folder, n=None):
    """Count the steps that change a folder, and let the n-th fail."""
    steps, real_open, real_sync = Steps(folder, n), io.open, os.fsync

    def opened(
        file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *rest, **more
    ):
        plain = isinstance(file, int) or not set(mode) & set("wax+") or rest or more
        if plain or not steps.holds(file):
            return real_open(file, mode, buffering, encoding, errors, newline, *rest, **more)
        raw = _File(os.fspath(file), mode.replace("t", "").replace("b", ""), steps)
        buffered = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    def synced(number):
        steps.take("fsync")
        return real_sync(number)

    builtins.open = io.open = opened
    os.fsync = synced
    _ACTIVE.append(steps)
    try:
        yield steps
    finally:
        _ACTIVE.pop()
        builtins.open = io.open = real_open
        os.fsync = real_sync


FILES = str(Path(clustertrust.files.__file__).parent)


@contextmanager
def scarce(n=None):
    """Count the calls that the readers of files make, and let the n-th find no memory."""
    count = [0]

    def profile(frame, event, _):
        code = frame.f_code
        # What is allowed is put back when all is done.
        if event not in ("call", "c_call") or code.co_name == "allowing":
            return
        if code.co_filename.startswith(FILES):
            count[0] += 1
            if count[0] == n:
                raise MemoryError

    sys.setprofile(profile)
    try:
        yield count
    finally:
        sys.setprofile(None)
