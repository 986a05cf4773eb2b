"""Nothing foreign can move the cursor, reorder or hide text."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from host_bridge.neutral_text import arguments_text, neutral_copy, neutralise

HOSTILE = "\x1b[2J\x07\r\x00\x7f\x85\x9b\u200b\u200f\u202e\u2066\u2028\ufeff\u00ad\u3164\ufe0f\U000e0041\ue000"


def test_hostile_characters_are_written_out():
    shown = neutralise("a" + HOSTILE + "b")
    assert shown.isascii()
    assert shown.startswith("a\\u001b[2J\\u0007")
    assert "\\u202e" in shown


def test_ordinary_text_of_any_language_is_left_alone():
    for text in ("plain", "Grüße, 変数", "naïve – “quoted”", "emoji 😀"):
        assert neutralise(text) == text


@given(st.text())
def test_nothing_unsafe_survives(text):
    shown = neutralise(text)
    assert all(unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for character in shown)


@given(st.dictionaries(st.text(), st.text() | st.integers(-(2**70), 2**70) | st.lists(st.booleans())))
def test_shown_arguments_are_json_of_the_same_value(arguments):
    from hypothesis import assume

    assume(not any("\ud800" <= c <= "\udfff" for c in json.dumps(arguments, ensure_ascii=False)))
    assert json.loads(arguments_text(arguments)) == arguments


def test_huge_integers_are_shown_too():
    assert "0x1" in arguments_text({"n": [2**60000, True, None, 1.5, "x", -3]})


def test_copies_are_neutral_in_keys_and_values():
    assert neutral_copy({"\x1b": ["\u202e", 1, None]}) == {"\\u001b": ["\\u202e", 1, None]}
