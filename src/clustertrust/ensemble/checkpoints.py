"""The folder in which a build keeps finished runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from clustertrust._errors import ParameterError, literal
from clustertrust.ensemble.fitting import Run, with_data
from clustertrust.records import load_record, save_record
from clustertrust.storage import leftovers, write_text

# Of the files of a checkpoint.
_NAMES = r"settings\.json|run-\d+\.npz"


class Checkpoint:
    """A folder with one file per finished run, and a note of their data and settings."""

    def __init__(self, folder: str | Path, settings: dict[str, Any]) -> None:
        # Workers may have another working directory.
        self.folder = Path(folder).absolute()
        self.settings = settings
        note = self.folder / "settings.json"
        left = leftovers(self.folder, _NAMES)
        if note.exists():
            self.settings = self._begun_with(note, settings)
        elif self.folder.exists() and set(self.folder.iterdir()) - set(left):
            raise ParameterError(
                "checkpoint", str(folder), "holds other files", "give a new or empty folder"
            )
        for path in left:
            path.unlink(missing_ok=True)
        if not note.exists():
            write_text(note, json.dumps(settings, indent=2, sort_keys=True))

    def _begun_with(self, note: Path, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings that a build began with; raise if they are not those of this one."""
        try:
            begun: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
            differing = sorted(
                name
                for name in settings.keys() | begun.keys()
                if begun.get(name) != settings.get(name)
                # Without a seed, a build goes on with the entropy of the first.
                and (name != "entropy" or settings["random_state"] is not None)
            )
        except (ValueError, AttributeError) as error:
            raise ParameterError(
                "checkpoint",
                str(self.folder),
                f"has an unreadable settings.json: {literal(error)}",
            ) from error
        if differing:
            raise ParameterError(
                "checkpoint",
                str(self.folder),
                f"was begun with other {' and '.join(differing)}",
                "give another folder, or the same data and settings",
            )
        return begun

    def _path(self, r: int) -> Path:
        return self.folder / f"run-{r:05d}.npz"

    def load(self, r: int, X: Any) -> Run | None:
        """Return run r, if it is finished."""

        def check(run: Run) -> Run:
            if len(run.labels) != X.shape[0]:
                raise ValueError(f"it has labels of {len(run.labels)} of {X.shape[0]} points")
            run = with_data(run, X)
            if run.placer is not None:
                # Raises if it was fitted on other columns.
                run.placer(X[:1])
            return run

        path = self._path(r)
        try:
            return load_record(path, Run, check) if path.exists() else None
        except ValueError as error:
            raise ValueError(f"{error} Remove it, and the run is made again.") from error

    def save(self, r: int, run: Run) -> None:
        """Keep run r."""
        save_record(self._path(r), with_data(run, None))
