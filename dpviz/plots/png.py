"""Small images inside vector pictures, written with the standard library alone."""

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

LEVEL = 6  # of compression


def png(colors: NDArray[np.uint8]) -> bytes:
    """Write colors (height, width, 4), red, green, blue, opacity, as a PNG file (ISO 15948, color type 6)."""
    height, width, _ = colors.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), colors.reshape(height, 4 * width)], axis=1)  # 0: no filter
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), LEVEL)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def data_address(colors: NDArray[np.uint8]) -> str:
    """Return colors (height, width, 4) as a data: address."""
    return f"data:image/png;base64,{base64.b64encode(png(colors)).decode()}"


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
