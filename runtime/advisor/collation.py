"""The order of names in the recorded locale (en-US). It compares namespaces and knows nothing of scores.

Exact for printable ASCII. Beyond it, letters sort beside their plain form (`é` by `e`, `ß` by `ss`) and everything else
by code point: the recorded order there is an accident of one ICU version (`collation-unicode`).
"""

from functools import lru_cache
from typing import Final, TypeAlias
from unicodedata import combining, normalize

_ORDER: Final = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
_RANK: Final = {character: _ORDER.index(character.lower()) for character in _ORDER}

CollationKey: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...], str]


@lru_cache(maxsize=4096)
def collation_key(name: str) -> CollationKey:
    """Sorts blind to accents and case first, then by accents, then lower case before upper.

    Seed: combustion:score:effective-controls
    """
    decomposed = normalize("NFD", name)
    base = [character for character in decomposed if not combining(character) and character >= " "]
    return (
        tuple(_RANK.get(folded, len(_ORDER) + ord(folded)) for character in base for folded in character.casefold()),
        tuple(ord(character) for character in decomposed if combining(character)),
        tuple(character.isupper() for character in base),
        name,
    )
