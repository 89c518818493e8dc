"""Bodies of values, compressed one by one with a dictionary that knows English and stored messages.

The dictionary is part of the storage format; `tools/make_dictionary.py` made it.
"""

from __future__ import annotations

from importlib.resources import files

import zstandard

from threadkeep.errors import SerializationError

_SHORTEST = 48
_LEVEL = 1
_FORMAT = zstandard.FORMAT_ZSTD1_MAGICLESS


class _Tool:
    """A compressor and a decompressor; neither may be used by two threads at once."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(dict_data=_DICTIONARY, compression_params=_PARAMETERS)
        self.decompressor = zstandard.ZstdDecompressor(dict_data=_DICTIONARY, format=_FORMAT)


def _load() -> zstandard.ZstdCompressionDict:
    data = files(__package__).joinpath("dictionary-1.zdict").read_bytes()
    dictionary = zstandard.ZstdCompressionDict(data)
    dictionary.precompute_compress(compression_params=_PARAMETERS)
    return dictionary


_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(
    _LEVEL, format=_FORMAT, write_content_size=True, write_dict_id=False, write_checksum=False
)
_DICTIONARY = _load()
# Kept in a list, not by thread: LangGraph makes new threads for every run, and a tool costs more to
# make than to use a hundred times.
_idle: list[_Tool] = []


def _take() -> _Tool:
    try:
        return _idle.pop()
    except IndexError:
        return _Tool()


def shrink(body: bytes) -> bytes | None:
    """Return a body compressed, or None when that does not pay."""
    if len(body) < _SHORTEST:
        return None
    tool = _take()
    packed = tool.compressor.compress(body)
    _idle.append(tool)
    return packed if len(packed) < len(body) else None


def grow(packed: bytes) -> bytes:
    """Return the body that was compressed. Raises SerializationError for bytes that are damaged."""
    tool = _take()
    try:
        return tool.decompressor.decompress(packed)
    except zstandard.ZstdError as error:
        raise SerializationError(f"a stored value is damaged: {error}", damaged=True) from error
    finally:
        _idle.append(tool)
