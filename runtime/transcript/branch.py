"""Entries of a store in an order, each line read when it is looked at; it changes nothing and keeps no line."""

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, overload

from runtime.transcript.entries import Entry

if TYPE_CHECKING:
    from runtime.transcript.store import TranscriptStore

_BULK_NODES: Final = 512
_BULK_SPREAD: Final = 4
"""Lines of a branch are read together while they lie within this many times their own bytes."""


class Branch(Sequence[Entry]):
    """Entries of a store in an order; each line is read when it is looked at, neighbours together when iterated."""

    def __init__(self, store: "TranscriptStore", nodes: Sequence[int]) -> None:
        self._store = store
        self._nodes = nodes

    @property
    def ids(self) -> list[str]:
        """The ids, without reading a line."""
        return self._store.tree.ids(self._nodes)

    def positions(self, type: str, custom_type: str | None = None) -> list[int]:  # noqa: A002
        """Where entries of a kind stand in this order, first to last, without reading a line."""
        return self._store.tree.positions(self._nodes, type, custom_type)

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> "Branch": ...
    def __getitem__(self, index: int | slice) -> "Entry | Branch":
        if isinstance(index, slice):
            return Branch(self._store, self._nodes[index])
        return self._store._entry_at(self._nodes[index])  # noqa: SLF001  the store's own view

    def of_type(self, type: str) -> "Branch":  # noqa: A002
        """The entries of a type, in this order."""
        nodes = self._nodes
        return Branch(self._store, array("I", [nodes[position] for position in self.positions(type)]))

    def lines(self) -> Iterator[bytes]:
        """The entries' bytes alone, line breaks included: for a pass over very many of them."""
        return (line for _, line in self._read())

    def __iter__(self) -> Iterator[Entry]:
        entry_of = self._store._entry_of  # noqa: SLF001  the store's own view
        return (entry_of(node, line) for node, line in self._read())

    def _read(self) -> Iterator[tuple[int, bytes]]:
        """Nodes and their lines, neighbours read together."""
        store = self._store
        for start in range(0, len(self._nodes), _BULK_NODES):
            nodes = self._nodes[start : start + _BULK_NODES]
            places = store.tree.places.of(nodes)
            first = min(place.offset for place in places)
            span = max(place.offset + place.length for place in places) - first
            if span > _BULK_SPREAD * sum(place.length for place in places):
                for node, place in zip(nodes, places, strict=True):
                    yield node, store._source.read(place.offset, place.length)  # noqa: SLF001
                continue
            data = store._source.read(first, span)  # noqa: SLF001
            for node, place in zip(nodes, places, strict=True):
                begin = place.offset - first
                yield node, data[begin : begin + place.length]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # compared by its lines

    def __repr__(self) -> str:
        return f"<Branch of {len(self)} entries>"
