"""Cuts the skill regions that a host placed into a prompt. It knows nothing else about the text."""

import re
from typing import Final

from runtime.advisor.sentences import WHITESPACE

_OPEN: Final = re.compile(r"<(available_skills|skill)(?![A-Za-z0-9_])")
_CLOSE: Final = {name: re.compile(rf"</{name}[{WHITESPACE}]*>") for name in ("available_skills", "skill")}


def cut_envelopes(prompt: str) -> str:
    """`prompt` with one blank in place of each `<available_skills>` and `<skill>` region.

    A region ends at its first matching close tag, or with the text. Tags are lower case and do not nest.

    Seed: combustion:envelope:cut, combustion:envelope:open-region
    """
    if "<" not in prompt:
        return prompt
    kept = []
    position = 0
    while (opened := _OPEN.search(prompt, position)) is not None:
        end = prompt.find(">", opened.end())
        if end < 0:
            break  # a tag that never ends opens nothing, and neither does a later one
        kept.append(prompt[position : opened.start()])
        closed = _CLOSE[opened.group(1)].search(prompt, end + 1)
        if closed is None:
            return " ".join([*kept, ""])
        position = closed.end()
    return " ".join([*kept, prompt[position:]])
