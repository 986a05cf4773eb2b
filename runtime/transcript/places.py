"""Where the lines of a session lie. It knows offsets, lengths and line numbers by node, and neither ids nor content.

Lines that were read together are a run: only the run's offset is kept, and the length of each line.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

_TOGETHER: Final = 512


class Place(NamedTuple):
    """Where an entry's line lies."""

    offset: int
    length: int
    """Bytes, the line break included where it was read with it."""
    line: int


class Places:
    """Grows by one line or by a run of lines; the position in it is the node."""

    def __init__(self) -> None:
        self._lengths = array("q")
        self._first_nodes = array("I")
        self._offsets = array("q")
        self._lines = array("I")
        self._moved: dict[int, Place] = {}

    def extend(self, lengths: list[int], offset: int, line: int) -> None:
        """Lines that follow on each other without a gap; `offset` and `line` are the first one's."""
        self._first_nodes.append(len(self._lengths))
        self._offsets.append(offset)
        self._lines.append(line)
        self._lengths.fromlist(lengths)

    def add(self, place: Place) -> None:
        """One line."""
        self.extend([place.length], place.offset, place.line)

    def move(self, node: int, place: Place) -> None:
        """A later line took the place of a node's first one."""
        self._moved[node] = place

    def __getitem__(self, node: int) -> Place:
        return self.of((node,))[0]

    def of(self, nodes: Iterable[int]) -> list[Place]:
        """The places of nodes; neighbours cost no search."""
        found: list[Place] = []
        lengths, moved = self._lengths, self._moved
        before, until, offset, line = -2, -1, 0, 0
        for node in nodes:
            if node == before + 1 < until:
                offset += lengths[before]
                line += 1
            elif 0 <= before < node < until:
                offset += sum(lengths[before:node])
                line += node - before
            else:
                run = bisect_right(self._first_nodes, node) - 1
                first = self._first_nodes[run]
                until = self._first_nodes[run + 1] if run + 1 < len(self._first_nodes) else len(lengths)
                offset = self._offsets[run] + sum(lengths[first:node])
                line = self._lines[run] + node - first
            before = node
            found.append(moved.get(node) or Place(offset, lengths[node], line))
        return found

    def lines(self) -> Iterator[int]:
        """The line number of each node, in order."""
        for start in range(0, len(self._lengths), _TOGETHER):
            yield from (place.line for place in self.of(range(start, min(start + _TOGETHER, len(self._lengths)))))

    def in_file_order(self, nodes: Sequence[int]) -> list[int]:
        """These nodes as their lines stand in the file."""
        offsets = {node: place.offset for node, place in zip(nodes, self.of(nodes), strict=True)}
        return sorted(nodes, key=offsets.__getitem__)
