"""The rules of an edit: exact, unique, against the original."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.pi_tools.editing import EditRefusedError, Replacement, edited


def apply(text: str, *edits: tuple[str, str], every: bool = False) -> str:
    return edited(text, [Replacement(old_text=old, new_text=new, all=every) for old, new in edits], "f").text


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("a b c", [("b", "x")], "a x c"),
        ("a b c", [("a", "c"), ("c", "a")], "c b a"),
        ("one\r\ntwo\r\n", [("one\ntwo", "1\n2\n3")], "1\r\n2\r\n3\r\n"),
        ("one\r\ntwo\n", [("two", "2\n2")], "one\r\n2\n2\n"),
        ("one\ntwo\n", [("one\r\ntwo", "x")], "x\n"),
        ("a\rb\n", [("b", "c\nd")], "a\rc\nd\n"),
        ("last", [("last", "x\ny")], "x\ny"),
        ("x\r\nlast", [("last", "p\nq")], "x\r\np\r\nq"),
    ],
)
def test_edits_that_fit(text: str, edits: list[tuple[str, str]], expected: str) -> None:
    assert apply(text, *edits) == expected


@pytest.mark.parametrize(
    ("text", "edits", "message"),
    [
        ("a", [], "empty list"),
        ("a", [("", "x")], r"edits\[0\].oldText is empty"),
        ("a b a", [("a", "x")], r"stands 2 times in f \(lines 1, 1\)"),
        ("aaa", [("aa", "x")], "stands 2 times"),
        ("a", [("b", "x")], "does not stand in f"),
        ("  value = 1", [("value =  1", "x")], "nearest is line 1"),
        ("\tvalue = 1", [("  value = 1", "x")], "line 1 differs only in its white space"),
        ("abcd", [("abc", "x"), ("cd", "y")], r"edits\[0\] and edits\[1\] overlap"),
        ("abc", [("b", "b")], "would change nothing"),
        ("abc", [("a", "x"), ("zz", "y")], r"edits\[1\].oldText"),
    ],
)
def test_edits_that_do_not_fit_say_why(text: str, edits: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(EditRefusedError, match=message):
        apply(text, *edits)


def test_every_place_is_changed_only_when_asked() -> None:
    assert apply("a a a", ("a", "b"), every=True) == "b b b"
    assert apply("aaa", ("aa", "b"), every=True) == "ba"


# A carriage return stands only before a newline: alone beside one that an edit moves, it would make a line break.
texts = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", " ", "x"]), max_size=40).map("".join)


@given(texts, st.text(alphabet="ab\n x", min_size=1, max_size=4), st.text(alphabet="xy\n", max_size=4))
def test_an_edit_is_what_replacing_the_only_place_is(text: str, old: str, new: str) -> None:
    flat = text.replace("\r\n", "\n")
    places = sum(flat.startswith(old, at) for at in range(len(flat)))
    if places == 1 and old != new:
        changed = apply(text, (old, new))
        assert changed.replace("\r\n", "\n") == flat.replace(old, new).replace("\r\n", "\n")
        kept = flat.index(old)
        assert changed.startswith(text[:kept]) or "\r\n" in text
    elif places != 1:
        with pytest.raises(EditRefusedError):
            apply(text, (old, new))
