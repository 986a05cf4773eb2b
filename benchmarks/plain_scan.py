"""The specification's formulas written down source by source, without an inverted index: the yardstick and the oracle.

It reads a fresh session's first prompt only (no heat, no familiar words, no ash). Terms of each tool and document
frequencies are computed once, as any implementation would; every prompt then goes through all sources and all tools.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.advisor.envelopes import cut_envelopes
from runtime.advisor.fingerprint import CatalogTool, brand_tokens, surface_terms
from runtime.advisor.paths import path_only_terms
from runtime.advisor.script import mostly_non_latin
from runtime.advisor.tokens import surviving_words


@dataclass(frozen=True)
class PlainSource:
    namespace: str
    terms: frozenset[str]
    tools: tuple[frozenset[str], ...]


class PlainCatalog:
    """All sources with their term sets, and df."""

    def __init__(self, tools: Sequence[CatalogTool]) -> None:
        grouped: dict[str, list[frozenset[str]]] = {}
        for name, description, namespace, _ in tools:
            grouped.setdefault("unscoped" if namespace is None else namespace, []).append(
                frozenset(surface_terms(name, description))
            )
        self.sources = [
            PlainSource(namespace, frozenset().union(*surfaces), tuple(surfaces))
            for namespace, surfaces in grouped.items()
        ]
        self.df: dict[str, int] = {}
        for source in self.sources:
            for term in source.terms:
                self.df[term] = self.df.get(term, 0) + 1

    def lanes(self, prompt: str, threshold: float) -> dict[str, tuple[str, float]]:
        """Namespace to lane and effective score, for every source that enters a lane."""
        text = cut_envelopes(prompt)
        words = list(enumerate(surviving_words(text, ())))
        halved = path_only_terms(text)
        found = {}
        for source in self.sources:
            lane = self._lane(source, words, halved, text, threshold)
            if lane is not None:
                found[source.namespace] = lane
        return found

    def _weight(self, term: str, halved: frozenset[str]) -> float:
        weight = 1 / self.df[term]
        return weight / 2 if term in halved else weight

    def _score(self, terms, words, halved) -> tuple[float, list[tuple[int, str]]]:
        """The sum over words of the heaviest reading in `terms`, and which words those are."""
        score, matched = 0.0, []
        for position, word in words:
            held = [term for term in word.readings if term in terms]
            if held:
                best = max(held, key=lambda term: self._weight(term, halved))
                score += self._weight(best, halved)
                matched.append((position, best))
        return score, matched

    def _lane(self, source, words, halved, text, threshold):
        raw, matched = self._score(source.terms, words, halved)
        if not matched or raw < threshold:
            return None
        if len(matched) == 1:
            term = matched[0][1]
            share = sum(term in tool for tool in source.tools) / len(source.tools)
            brand = term in brand_tokens(source.namespace)
            if self.df[term] == 1 and (brand or share >= 0.5) and mostly_non_latin(text):
                return "script", min(raw, 1.0)
            return ("brand", min(raw, 1.0)) if brand else None
        phrase = 0.0
        for tool in source.tools:
            score, held = self._score(tool, words, halved)
            near = any(abs(one[0] - other[0]) <= 4 for one in held for other in held if one is not other)
            if near and score >= threshold:
                phrase = max(phrase, score)
        if phrase:
            return "strong" if phrase >= threshold + 1 else "weak", phrase
        return "scatter", min(raw, 1.0)
