"""Bodies of values, compressed one by one with a dictionary that knows English and stored messages.

The dictionary is part of the storage format; `tools/make_dictionary.py` made it.
"""

from __future__ import annotations

import threading
from importlib.resources import files

import zstandard

from threadkeep.errors import SerializationError

_SHORTEST = 48
_LEVEL = 1
_FORMAT = zstandard.FORMAT_ZSTD1_MAGICLESS
_MOST = 1 << 31


class _Tools(threading.local):
    """A compressor and a decompressor for each thread: neither may be used by two at once."""

    def __init__(self) -> None:
        dictionary = zstandard.ZstdCompressionDict(_DICTIONARY)
        parameters = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL, format=_FORMAT, write_content_size=True, write_dict_id=False, write_checksum=False
        )
        self.compressor = zstandard.ZstdCompressor(dict_data=dictionary, compression_params=parameters)
        self.decompressor = zstandard.ZstdDecompressor(dict_data=dictionary, format=_FORMAT)


_DICTIONARY = files(__package__).joinpath("dictionary-1.zdict").read_bytes()
_tools = _Tools()


def shrink(body: bytes) -> bytes | None:
    """Return a body compressed, or None when that does not pay."""
    if len(body) < _SHORTEST:
        return None
    packed = _tools.compressor.compress(body)
    return packed if len(packed) < len(body) else None


def grow(packed: bytes) -> bytes:
    """Return the body that was compressed. Raises SerializationError for bytes that are damaged."""
    try:
        return _tools.decompressor.decompress(packed, max_output_size=_MOST)
    except zstandard.ZstdError as error:
        raise SerializationError(f"a stored value is damaged: {error}") from error
