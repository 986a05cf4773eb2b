"""JSON that keeps integers exact at any size; for what is written to records and handed to children."""

import json
from typing import Any, Final

import msgspec

_COMPACT: Final = (",", ":")


def dump(value: Any) -> bytes:
    """Compact UTF-8 JSON of structs and plain data.

    Raises: TypeError, ValueError: not JSON.
    """
    plain = msgspec.to_builtins(value)
    return json.dumps(plain, ensure_ascii=False, separators=_COMPACT, allow_nan=False).encode("utf-8", "surrogatepass")


def load(data: bytes | str) -> Any:
    """The value.

    Raises: ValueError: not JSON.
    """
    return json.loads(data)
