"""What was read from a session, written again as it was meant: halves of characters, and numbers out of range.

For showing and copying what others wrote; what we say ourselves is strict JSON (`strict_json.encode`).
"""

import math
from typing import Any

import msgspec

from host_bridge import strict_json


def encode_as_read(value: object) -> bytes:
    """One line of JSON that reads as `value` again.

    Raises: NotJsonError: no value that JSON gives.
    """
    try:
        return strict_json.encode(value, lone_surrogates=True)
    except strict_json.NotJsonError:
        return strict_json.encode(_spelled_out(value), lone_surrogates=True)


def _spelled_out(value: Any) -> Any:
    """Only a number out of range reads as an infinity: it goes out as one again."""
    if isinstance(value, float) and math.isinf(value):
        return msgspec.Raw(b"1e999" if value > 0 else b"-1e999")
    if isinstance(value, dict):
        return {key: _spelled_out(item) for key, item in value.items()}
    return [_spelled_out(item) for item in value] if isinstance(value, list) else value
