"""The words that the advisor itself put into the session. It knows the text of hints, no prompts."""

from collections.abc import Set as AbstractSet

from runtime.advisor.tokens import written_words


def with_echoes(echoes: AbstractSet[str], content: str) -> frozenset[str]:
    """`echoes` and every whole written word of an emitted `content`, in lower case, fixed sentences included.

    Seed: combustion:echo:every-word
    """
    return frozenset(echoes | written_words(content))
