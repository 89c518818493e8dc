"""Headers of images of a given size, without a picture in them."""

from __future__ import annotations

import struct


def png(width: int, height: int) -> bytes:
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 2, 0, 0, 0)
        + bytes(8)
    )


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(6)


def jpeg(width: int, height: int) -> bytes:
    """An embedded preview of another size stands before the frame, as cameras write it."""
    preview = (
        b"\xff\xe1"
        + struct.pack(">H", 2 + 40)
        + b"Exif\x00\x00"
        + b"\xff\xc0\x00\x11\x08\x00\x10\x00\x10"
        + bytes(25)
    )
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + preview + b"\xff\xff" + frame + b"\xff\xd9"


def webp(width: int, height: int) -> bytes:
    """The extended form, which has the size of the canvas."""
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + bytes(4) + b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + size


def webp_lossless(width: int, height: int) -> bytes:
    return (
        b"RIFF"
        + bytes(4)
        + b"WEBPVP8L"
        + bytes(4)
        + b"\x2f"
        + struct.pack("<I", (width - 1) | (height - 1) << 14)
    )


def webp_lossy(width: int, height: int) -> bytes:
    return b"RIFF" + bytes(4) + b"WEBPVP8 " + bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", width, height)
