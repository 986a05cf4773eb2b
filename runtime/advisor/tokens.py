"""From text to written words, tokens and readings. It knows no index, no paths and no session.

A *written word* is a run of ASCII letters and digits as a person typed it. A *token* is what the index holds. A written
word has several *readings*: the atoms of its CamelCase form and its full spelling.
"""

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from runtime.advisor.limits import MINIMUM_TOKEN_CHARACTERS
from runtime.advisor.stopwords import STOPWORDS

_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_TOKEN: Final = re.compile(r"[a-z][a-z0-9]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SOME_CAMEL: Final = re.compile(r"[A-Z](?<=[a-z0-9][A-Z])")
"""Finds whether there is any: it looks back from capitals only, and most texts have few."""


class PromptWord(NamedTuple):
    """A surviving word of a prompt. Its position is its index among the survivors."""

    key: str
    """The written word in lower case: under this the session remembers it."""
    readings: tuple[str, ...]
    """What it may match, in order: atoms first, then the full spelling."""


def ascii_only(text: str) -> str:
    """`text` with one mark in place of every character beyond ASCII, so that lower-casing cannot create letters."""
    return text if text.isascii() else text.encode("ascii", "replace").decode("ascii")


def token_run(text: str) -> list[str]:
    """Every token of `text` in order, stopwords and repeats included."""
    plain = ascii_only(text)
    if _SOME_CAMEL.search(plain) is not None:
        plain = _CAMEL.sub(" ", plain)
    return _TOKEN.findall(plain.lower())


def tokens(text: str) -> list[str]:
    """The tokens of `text` in order, without stopwords.

    Seed: combustion:token:latin-digits, combustion:token:shape
    """
    return [token for token in token_run(text) if token not in STOPWORDS]


def words(text: str) -> list[str]:
    """The written words of `text` in order, as spelt, each lower-case form once: the first spelling wins."""
    first: dict[str, str] = {}
    for word in _WORD.findall(text):
        first.setdefault(word.lower(), word)
    return list(first.values())


def readings(word: str) -> tuple[str, ...]:
    """The candidates of one written word: atoms in order, then the whole spelling; empty if it carries no weight.

    Letter case decides what the atoms are (`GitHub` reads `git`, `hub`, `github`; `github` only itself).

    Seed: combustion:score:readings
    """
    found = dict.fromkeys(tokens(word))
    whole = word.lower()
    if len(whole) >= MINIMUM_TOKEN_CHARACTERS and "a" <= whole[0] <= "z" and whole not in STOPWORDS:
        found[whole] = None
    return tuple(found)


def written_words(text: str) -> set[str]:
    """The whole written words of `text` in lower case."""
    return {word.lower() for word in _WORD.findall(text)}


def surviving_words(text: str, echoes: Collection[str]) -> list[PromptWord]:
    """The words of a prompt that carry evidence: unique, no echo, at least one reading; in order of first use.

    Seed: combustion:score:unique-words, combustion:echo:later-prompts
    """
    plain = ascii_only(text)
    if _SOME_CAMEL.search(plain) is None:
        # No CamelCase anywhere: the first spelling decides nothing, so one pass in lower case does.
        keys = [
            key for key in dict.fromkeys(_WORD.findall(plain.lower())) if key not in STOPWORDS and key not in echoes
        ]
        return [
            PromptWord(key, candidates)
            for key in keys
            if (candidates := (key,) if key[0] > "9" and len(key) >= MINIMUM_TOKEN_CHARACTERS else readings(key))
        ]
    return [
        PromptWord(key, candidates)
        for word in words(plain)
        if (key := word.lower()) not in echoes and (candidates := readings(word))
    ]
