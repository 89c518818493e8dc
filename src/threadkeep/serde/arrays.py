"""NumPy scalars and arrays. NumPy is imported only when a value of it is stored or read."""

from __future__ import annotations

import sys
from typing import Any, Final

from ormsgpack import Ext

from threadkeep.serde import wire
from threadkeep.serde.paths import Refused, name_of
from threadkeep.serde.reader import Read, Reader
from threadkeep.serde.writer import Write, Writer

_KINDS: Final = "biufcmMSUV?"


def array_writer(kind: type) -> Write | None:
    """Return how values of a NumPy type are written, or None for any other type."""
    numpy = sys.modules.get("numpy")
    if numpy is None or kind.__module__.partition(".")[0] != "numpy":
        return None
    if kind is numpy.ndarray:
        return _write_array
    if kind is numpy.str_ or kind is numpy.bytes_:
        return _write_text
    return _write_scalar if issubclass(kind, numpy.generic) else None


def _write_array(writer: Writer, value: Any, depth: int) -> Ext:
    fortran = value.flags.f_contiguous and not value.flags.c_contiguous
    parts = [list(value.shape), fortran, value.tobytes(order="F" if fortran else "C")]
    return Ext(wire.ARRAY, wire.pack([_described(writer, value.dtype, depth), *parts]))


def _write_scalar(writer: Writer, value: Any, depth: int) -> Ext:
    return Ext(wire.ARRAY, wire.pack([_described(writer, value.dtype, depth), value.tobytes()]))


def _write_text(writer: Writer, value: Any, depth: int) -> Ext:
    """Write a NumPy text or bytes as what it holds: as array items they lose NULs at the end."""
    plain = bytes(value) if isinstance(value, bytes) else writer.text(str.__str__(value))
    return Ext(wire.ARRAY, wire.pack([plain]))


def _described(writer: Writer, dtype: Any, depth: int) -> Any:
    """Return the wire value of a dtype: its text, or the list of its fields."""
    from numpy.lib import format as numpy_format

    if dtype.hasobject or dtype.kind not in _KINDS or dtype.metadata:
        raise Refused(
            f"an array of dtype {dtype!r} cannot be stored; use a dtype of fixed size", name_of(type(dtype))
        )
    described = numpy_format.dtype_to_descr(dtype)
    if numpy_format.descr_to_dtype(described) != dtype:
        raise Refused(f"dtype {dtype!r} would not come back as it was", name_of(type(dtype)))
    return writer.value(described, depth + 1)


def _read_array(reader: Reader, data: bytes) -> Any:
    parts = reader.unpack(data)
    try:
        import numpy
        from numpy.lib.format import descr_to_dtype
    except ImportError as exc:
        raise wire.Damaged("the value is of NumPy, which is not installed: pip install numpy") from exc
    if len(parts) == 1:
        return numpy.bytes_(parts[0]) if type(parts[0]) is bytes else numpy.str_(parts[0])
    dtype = descr_to_dtype(parts[0])
    shape, fortran, raw = parts[1:] if len(parts) == 4 else ((), False, parts[1])
    if dtype.hasobject or type(raw) is not bytes or any(size < 0 for size in shape):
        raise wire.Damaged("an array of objects, or of no size")
    # From a bytearray, so that the array may be written to, as the stored one could.
    array: Any = numpy.ndarray(tuple(shape), dtype, bytearray(raw), order="F" if fortran else "C")
    if array.nbytes != len(raw):
        raise wire.Damaged("an array with too many bytes")
    return array if len(parts) == 4 else array[()]


READ: Final[dict[int, Read]] = {wire.ARRAY: _read_array}
