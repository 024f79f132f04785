"""Records on disk: one writer and one reader for all of them.

A `Record` is a dataclass of arrays, plain values and other records. Its arrays go into the file as
they are, and JSON says how they make up the record: each JSON object has one key, which is
``array``, ``dict``, ``tuple``, or the name of a record or of a registered estimator. Nothing but
these is ever built from a file, and only if every field is what its annotation says.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clustertrust._types import Arrays
from clustertrust.storage import (
    FARTHEST,
    checked_csr,
    named_damage,
    read_arrays,
    read_content,
    refuse_objects,
    write_arrays,
)

Kind = TypeVar("Kind")
Result = TypeVar("Result")


class Record:
    """The base of dataclasses that can be stored.

    Nothing else is needed, unless `_to_stored` and `_from_stored` are: they take a record apart and
    put it together where a field cannot be stored as it is, or check that its fields go together.
    An array is annotated with the kind of its numbers and the names of its axes, such as
    ``Annotated[Floats, "f n d"]``; further annotations are other types that it may be of. Within a
    record, axes of one name are equally long. "f!" asks for finite numbers with finite squares.
    """

    def __init_subclass__(cls) -> None:
        _add(cls)

    def _to_stored(self) -> dict[str, Any]:
        """Return the fields that go into a file; raise TypeError if they cannot."""
        return {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}

    def _from_stored(self) -> Self:
        """Return the record as it was before `_to_stored`; raise ValueError if its parts misfit."""
        return self


# What may be built from a file.
_KINDS: dict[str, type] = {}
_FITTED: dict[str, tuple[str, ...]] = {}
_CSR = {"data": "f! stored", "indices": "i stored", "indptr": "i rows", "shape": tuple}


def register(kind: type[Kind], fitted: tuple[str, ...] = ()) -> type[Kind]:
    """Let estimators of a class be stored: their parameters, and these attributes where fitted."""
    _add(kind)
    _FITTED.setdefault(kind.__name__, fitted)
    return kind


def _add(kind: type) -> None:
    """Let a class be built from files; a name stays with the module that had it first."""
    if _KINDS.get(kind.__name__, kind).__module__ == kind.__module__:
        _KINDS[kind.__name__] = kind


def save_record(path: str | Path, record: Record) -> None:
    """Write a record to one file, completely or not at all."""
    arrays: Arrays = {}
    content = _encode(record, "", arrays, {})[type(record).__name__]
    write_arrays(Path(path), _kind(type(record)), content, arrays)


def load_record(path: str | Path, kind: type[Kind], then: Callable[[Kind], Result]) -> Result:
    """Read a record and return what `then` makes of it; what is wrong names the file."""
    content, arrays = read_arrays(Path(path), _kind(kind))
    with named_damage(Path(path)):
        return then(_decode({kind.__name__: content}, arrays))


def read_field(path: str | Path, kind: type, field: str) -> Any:
    """Return one field of a stored record that has no arrays in it, without reading the arrays."""
    content = read_content(Path(path), _kind(kind))
    with named_damage(Path(path)):
        return _decode(content[field], {})


def can_be_stored(value: Any) -> bool:
    """Return whether a value is, all through, what files can hold."""
    try:
        _encode(value, "", {}, {})
    except TypeError:
        return False
    return True


def _kind(kind: type) -> str:
    """Return what files of these records hold, in one word."""
    return kind.__name__.removesuffix("File").lower()


def _encode(value: Any, where: str, arrays: Arrays, names: dict[int, str]) -> Any:
    """Return a value as JSON; put its arrays into `arrays`, each once, named by its place."""

    def each(items: Any) -> dict[str, Any]:
        return {
            name: _encode(item, f"{where}/{name}".lstrip("/"), arrays, names)
            for name, item in items
        }

    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, np.ndarray):
        refuse_objects(where, value)
        if id(value) not in names:
            names[id(value)] = f"{where}~{len(arrays)}" if where in arrays else where
            arrays[names[id(value)]] = value
        return {"array": names[id(value)]}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": each(value.items())}
    if isinstance(value, list | tuple | range):
        items = list(each(enumerate(value)).values())
        return {"tuple": items} if isinstance(value, tuple) else items
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        return {"csr": each((name, getattr(csr, name)) for name in _CSR)}
    kind = type(value).__name__
    if _KINDS.get(kind) is not type(value):
        raise TypeError(f"{where}={value!r} cannot be stored: files can hold no {kind}.")
    return {kind: each(_parts(value, kind).items())}


def _parts(record: Any, kind: str) -> dict[str, Any]:
    if isinstance(record, Record):
        return record._to_stored()
    fitted = {name: getattr(record, name) for name in _FITTED[kind] if hasattr(record, name)}
    params: dict[str, Any] = record.get_params(deep=False)
    return params | fitted


def _decode(stored: Any, arrays: Arrays) -> Any:
    """Return what `_encode` took apart; raise ValueError if its parts do not go together."""
    if isinstance(stored, list):
        return [_decode(item, arrays) for item in stored]
    if not isinstance(stored, dict):
        return stored
    ((tag, content),) = stored.items()
    if tag == "array" and content in arrays:
        return arrays[content]
    if tag == "tuple":
        return tuple(_decode(content, arrays))
    if tag not in {"dict", "csr", *_KINDS} or not isinstance(content, dict):
        raise ValueError(f"it holds {tag} {content!r:.40}, which is unknown or not in the file")
    parts = {name: _decode(item, arrays) for name, item in content.items()}
    if tag == "dict":
        return parts
    if tag == "csr":
        check_fields(tag, parts, _CSR)
        *rows, shape = (parts[name] for name in _CSR)
        return checked_csr(sparse.csr_array(tuple(rows), shape=shape))
    kind = _KINDS[tag]
    if issubclass(kind, Record):
        check_fields(tag, parts, _hints(kind))
        return kind(**parts)._from_stored()
    fitted = {name: parts.pop(name) for name in _FITTED[tag] if name in parts}
    estimator = kind(**parts)
    vars(estimator).update(fitted)
    return estimator


def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def check_fields(name: str, parts: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise unless these are the fields of a record, each of its type, or kind and axes."""
    if wanted.keys() != parts.keys():
        differing = ", ".join(sorted(wanted.keys() ^ parts.keys()))
        raise ValueError(f"its {name} lacks, or should not have, {differing}")
    lengths: dict[str, int] = {}
    for field, want in wanted.items():
        value = parts[field]
        if not _is(value, want, lengths):
            what = f"{value!r:.40}"
            if isinstance(value, np.ndarray):
                what = f"an array {value.shape} of {value.dtype}, or not finite"
            raise ValueError(f"its {name}.{field} is {what}, and {want} is expected")


def check_finite(name: str, array: NDArray[Any]) -> None:
    """Raise unless all numbers are finite, and their squares too."""
    if not _is_finite(array):
        raise ValueError(f"its {name} are missing, infinite or out of range")


def _is_finite(array: NDArray[Any]) -> bool:
    # A comparison with NaN is false.
    return float(np.abs(array).max(initial=0.0)) <= FARTHEST


def _is(value: Any, want: Any, lengths: dict[str, int]) -> bool:
    """Return whether a value is of a type, or an array of a kind and of axes of these lengths."""
    origin, options = get_origin(want), get_args(want)
    # From NumPy 2.5 on, NDArray is an alias that has to be looked through.
    alias = getattr(origin, "__value__", None)
    origin = origin if alias is None else get_origin(alias)
    if want is Any:
        return True
    if origin in (Annotated, Union, types.UnionType):
        options = options[1:] if origin is Annotated else options
        return any(_is(value, option, lengths) for option in options)
    if isinstance(want, str):
        kinds, *axes = want.split()
        if not isinstance(value, np.ndarray) or value.ndim != len(axes):
            return False
        fits = [lengths.setdefault(axis, n) == n for axis, n in zip(axes, value.shape, strict=True)]
        return value.dtype.kind in kinds and all(fits) and ("!" not in kinds or _is_finite(value))
    if origin is tuple and isinstance(value, tuple):
        return all(_is(item, options[0], {}) for item in value)
    if want is None:
        return value is None
    return isinstance(value, origin or want) and (want is bool or not isinstance(value, bool))
