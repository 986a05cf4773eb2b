"""Whether a prompt is mostly written in another script than Latin. It knows no words' meaning and no sources."""

import re
from collections import Counter
from typing import Final

from runtime.advisor.letter_ranges import is_non_latin_letter

_LATIN_RUN: Final = re.compile(r"[A-Za-z]+")


def mostly_non_latin(text: str) -> bool:
    """Whether the non-Latin letters of `text` outnumber its runs of Latin letters.

    Seed: combustion:script:mostly-non-latin
    """
    if text.isascii():
        return False
    letters = sum(count for character, count in Counter(text).items() if is_non_latin_letter(character))
    return letters > len(_LATIN_RUN.findall(text))
