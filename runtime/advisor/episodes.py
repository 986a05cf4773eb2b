"""How often a written word went away and came back. It knows keys and a turn count, no weights and no sources."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from runtime.advisor.constants import EPISODE_GAP_TURNS, EPISODE_RESET_TURNS


class Familiar(NamedTuple):
    """What is remembered of one word."""

    last_turn: int
    episodes: int
    """Completed ones: how often it returned after a gap."""


@dataclass(frozen=True, slots=True)
class Episodes:
    """The words of the session so far, on the clock of prompts that had a surviving word.

    Seed: combustion:familiar:key
    """

    turn: int = 0
    words: Mapping[str, Familiar] = field(default_factory=lambda: MappingProxyType({}))

    def count(self, key: str) -> int:
        """e: the completed episodes of the word `key`."""
        known = self.words.get(key)
        return 0 if known is None else known.episodes

    def noted(self, keys: Iterable[str], brands: Container[str]) -> "Episodes":
        """The memory after one more turn with these words; brand words are not noted at all.

        A gap below tau^2 turns continues the episode, one below tau^3 completes it, a longer one starts anew.
        Words older than that are dropped: unseen and long gone are the same.

        Seed: combustion:familiar:adjacent, combustion:familiar:new-episode, combustion:familiar:reset,
        combustion:familiar:brand-protected
        """
        turn = self.turn + 1
        known = dict(self.words)
        if turn % EPISODE_RESET_TURNS == 0:
            oldest = turn - EPISODE_RESET_TURNS
            known = {key: word for key, word in known.items() if word.episodes or word.last_turn > oldest}
        fresh = Familiar(turn, 0)
        for key in keys:
            if key in brands:
                continue
            before = known.get(key)
            if before is None:
                known[key] = fresh
                continue
            gap = turn - before.last_turn
            if gap >= EPISODE_RESET_TURNS:
                known[key] = fresh
            elif gap >= EPISODE_GAP_TURNS:
                known[key] = Familiar(turn, before.episodes + 1)
            else:
                known[key] = Familiar(turn, before.episodes) if before.episodes else fresh
        return Episodes(turn, known)
