"""Words, tokens, readings, sentences, envelopes, paths and scripts by example; the recorded vectors cover the rest."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.advisor.envelopes import cut_envelopes
from runtime.advisor.paths import path_only_terms, path_spans
from runtime.advisor.script import mostly_non_latin
from runtime.advisor.sentences import collapse, first_sentence, sentence_to_index, short_description, utf16_units
from runtime.advisor.stopwords import FILENAME_ENDINGS, STOPWORDS
from runtime.advisor.tokens import PromptWord, readings, surviving_words, token_run, tokens, words
from tests.runtime.advisor.live import SETTINGS, heat, machine, tool, why


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3dmodel", ["dmodel"]),
        ("s3", ["s3"]),
        ("3d", []),
        ("x", []),
        ("résumé", ["sum"]),
        ("Привет мир", []),
        ("HTTPServer", ["httpserver"]),
        ("v2Run", ["v2", "run"]),
    ],
)
def test_tokens(text, expected):
    assert tokens(text) == expected


def test_accents_and_other_scripts_split_words():
    assert words("résumé ＡＢ naïve") == ["r", "sum", "na", "ve"]


def test_readings_are_the_atoms_and_the_full_spelling():
    assert readings("webSearch") == ("web", "search", "websearch")
    assert readings("GITHUB") == ("github",)
    assert readings("GitHub") == ("git", "hub", "github")


def test_the_85_stopwords_carry_no_weight_and_no_position():
    assert len(STOPWORDS) == 85
    assert surviving_words(" ".join(sorted(STOPWORDS)), ()) == []
    for word in ("what", "how", "why", "where", "which", "who"):
        assert surviving_words(f"{word} rows", ()) == [PromptWord("rows", ("rows",))]


def test_repeated_words_count_once_and_echoes_not_at_all():
    assert [word.key for word in surviving_words("query Query rows QUERY prefer", {"prefer"})] == ["query", "rows"]


@given(st.text(st.sampled_from("aAzZ09 _-.éİK\u017f你"), max_size=40), st.sampled_from([(), ("aa", "za0")]))
def test_the_fast_way_to_read_a_prompt_equals_the_plain_one(text, echoes):
    plain = [PromptWord(w.lower(), readings(w)) for w in words(text) if w.lower() not in echoes and readings(w)]
    assert surviving_words(text, echoes) == plain


def test_an_end_mark_counts_after_eight_units_and_before_whitespace():
    assert first_sentence("Hi. Render clips. More.") == "Hi. Render clips."
    assert first_sentence("Search fal.ai guides. More.") == "Search fal.ai guides."
    assert first_sentence("No mark at all") == "No mark at all"


def test_a_description_is_cut_by_utf16_units():
    long = "x" * 62 + "😀" + "y" * 9
    assert utf16_units("😀") == 2
    assert short_description(long) == "x" * 62 + "\ud83d…"
    assert short_description("Render clips. (captured from reel)") == "Render clips."


@given(st.text(st.sampled_from("ab.!? \t\n\u0085\u00a0\ufeff😀é"), max_size=60))
def test_the_sentence_to_index_has_the_words_of_the_first_sentence(text):
    assert token_run(sentence_to_index(text)) == token_run(first_sentence(text))


@given(st.text(st.sampled_from("ab \t\u00a0"), max_size=30))
def test_collapsing_twice_changes_nothing(text):
    assert collapse(collapse(text)) == collapse(text)


def test_words_in_a_skill_region_are_cut_out():
    assert cut_envelopes("a<skill name='x'>b</skill >c <available_skills>d</available_skills>e") == "a c  e"
    made = machine()
    assert made.prompt("<skill>check the status of my fal job</skill> hello there", SETTINGS) is None
    assert heat(made, "mcp:fal-ai") == 0


def test_an_open_skill_region_goes_out_to_the_end():
    assert cut_envelopes("keep <skill> all of the rest") == "keep  "
    assert machine().prompt("<skill> check the status of my fal job", SETTINGS) is None


@pytest.mark.parametrize("text", ["<skills>b</skills>", "<skill_x>b</skill_x>", "<SKILL>b</SKILL>", "<skill b"])
def test_other_tags_open_nothing(text):
    assert cut_envelopes(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see docs/heat-diffusion.md now", {"docs", "heat", "diffusion", "md"}),
        ("open worker.ts", {"worker", "ts"}),
        ("open worker.ts, then docs/guide and lib.rs", {"worker", "ts", "docs", "guide", "lib", "rs"}),
        ("open worker.xyz", set()),
        ("ask fal.ai", set()),
        ("harbour in src/harbour.ts", {"src", "ts"}),
        ("https://example.org/rows?x=totals.", {"https", "example", "org", "rows", "totals"}),
    ],
)
def test_terms_only_inside_paths(text, expected):
    assert path_only_terms(text) == expected


def test_every_listed_ending_makes_a_file_name_and_another_does_not():
    assert len(FILENAME_ENDINGS) == 67
    for ending in FILENAME_ENDINGS:
        assert path_spans(f"worker.{ending.upper()}!") == [(0, 7 + len(ending))]
    assert path_spans("worker.xyz") == []


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000 + " /x",
        "a+" * 60_000 + " x://y",
        "a.b/ " * 30_000,
        ".js" * 40_000,
        "://" * 40_000,
        "~" * 100_000 + ".js/",
    ],
)
def test_a_hostile_prompt_is_read_in_linear_time(text):
    """In processor time, with two orders of magnitude to spare: a pattern tried at every character takes minutes."""
    started = time.process_time()
    path_only_terms(text)
    assert time.process_time() - started < 20


HALF = [tool("extension:k", "one", "Harbour quay."), tool("extension:k", "two", "Lantern.")]


def test_a_path_word_weighs_half_a_quantum_and_one_stays_below():
    made = machine(*HALF)
    assert why(made, "src/harbour.ts", "extension:k").words[0].weight == 0.5
    for _ in range(20):
        assert made.prompt("src/harbour.ts", SETTINGS) is None
    assert heat(made, "extension:k") == 0


def test_two_path_words_are_one_weak_quantum():
    assert why(machine(*HALF), "src/harbour/quay.ts", "extension:k").effective_score == 1


def test_a_brand_domain_and_a_word_in_free_prose_weigh_in_full():
    assert why(machine(), "ask fal.ai", "mcp:fal-ai").words[0].weight == 1
    assert why(machine(*HALF), "harbour in src/harbour.ts", "extension:k").words[0].weight == 1


def test_a_lone_path_brand_stays_out_of_the_brand_lane():
    made = machine()
    assert why(made, "open src/fal/x.ts", "mcp:fal-ai").lane is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("猫犬鳥 a b c", False),
        ("猫犬鳥魚 a b c", True),
        ("model とは何ですか", True),
        ("résumé ªº", False),
        ("µ", True),
        ("привет fal", True),
    ],
)
def test_mostly_non_latin_compares_letters_with_latin_words(text, expected):
    assert mostly_non_latin(text) is expected


@pytest.mark.parametrize(
    "text", ["<skill " * 100_000, "<skill>a</skill>" * 20_000, "<skill>" * 100_000, "</skill" + " " * 100_000]
)
def test_hostile_tags_are_read_in_linear_time(text):
    started = time.process_time()
    cut_envelopes(text)
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "text", [" " * 200_000 + ")", "(captured from " * 20_000 + "x", ". " * 100_000, "a" * 200_000 + ")"]
)
def test_a_hostile_description_is_read_in_linear_time(text):
    started = time.process_time()
    short_description(text)
    sentence_to_index(text)
    assert time.process_time() - started < 20
