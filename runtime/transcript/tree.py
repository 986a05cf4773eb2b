"""The shape of a session: ids, parents, leaf, branch, orphans, duplicates, cycles. It knows no bytes and no file.

A million entries fit in about 150 MB: one string for each id, and a set of the ids that becomes a map to nodes only
when somebody asks for an entry by its id. Most entries follow the entry before them: only the others keep a parent,
and a branch is a few ranges of nodes.
A node is the number of an id in order of its first appearance; a duplicate id keeps its node and moves its line.
"""

import operator
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Final, TypeAlias

from runtime.transcript.damage import Finding
from runtime.transcript.places import Place, Places

ROOT: Final = -1
"""Parent of an entry that follows nothing."""
MISSING: Final = -2
"""Parent of an orphan: its parent's id is not in the file."""
CUT: Final = -3
"""Parent edge removed because it closed a cycle."""

Kind: TypeAlias = tuple[str, str | None]
"""Type and custom type of an entry: what a walk needs to know without reading the line."""


class _KindCodes(dict[Kind, int]):
    """A small number for each kind; an unseen kind gets the next one in the same look-up."""

    def __missing__(self, kind: Kind) -> int:
        self[kind] = len(self)
        return self[kind]


class Tree:
    """Grows by one entry or by a block of entries; answers about ids, never about content."""

    def __init__(self) -> None:
        self.leaf: int = ROOT
        """Node of the last entry in file order, or wherever `leaf` was moved; ROOT: before every entry."""
        self._known: set[str] = set()
        self._node_of: dict[str, int] | None = None
        self._ids: list[str] = []
        self._breaks: dict[int, int] = {}
        """Parents of the nodes whose parent may be another than the node before them."""
        self._break_order: Sequence[int] = array("I")
        """The keys of `_breaks`, sorted; made anew when it is shorter than they are."""
        self._kinds = array("I")
        self.places: Final = Places()
        """Where the line of each node lies."""
        self._kind_codes = _KindCodes()
        self._kind_list: list[Kind] = []
        self._missing: dict[int, str] = {}
        self._cut: dict[int, str] = {}
        self._findings: list[Finding] = []
        self._ordered = True
        """Every parent stands before its child and no id came twice: then no cycle is possible."""

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in (self._known if self._node_of is None else self._node_of)

    def extend(
        self, ids: list[str], parent_ids: list[str | None], codes: list[int], lengths: list[int], offset: int, line: int
    ) -> bool:
        """Add lines that follow on each other, all at once; False (and nothing added) where an id is there already.

        Every step is one pass in C: a million entries cost a third of a second.
        """
        start, count = len(self._ids), len(ids)
        if self._node_of is not None:
            if len(set(ids)) != count or not self._node_of.keys().isdisjoint(ids):
                return False
            self._node_of.update(zip(ids, range(start, start + count), strict=True))
        else:
            self._known.update(ids)
            if len(self._known) != start + count:
                self._index()  # some id came twice: from here on ids are looked up one by one
                return False
        before: list[str | None] = [self._ids[-1] if start else None]
        before += ids
        before.pop()
        self._ids += ids
        if parent_ids != before:
            for position in compress(range(count), map(operator.ne, parent_ids, before)):
                self._breaks[start + position] = self._unresolved(start + position, parent_ids[position])
        self._kinds.fromlist(codes)
        self.places.extend(lengths, offset, line)
        self.leaf = start + count - 1
        return True

    def _index(self) -> dict[str, int]:
        """The map from ids to nodes, made when it is first needed."""
        if self._node_of is None:
            self._node_of = dict(zip(self._ids, range(len(self._ids)), strict=True))
            self._known = set()
        return self._node_of

    def add(self, entry_id: str, parent_id: str | None, kind: Kind, place: Place) -> int:
        """Add one entry, make it the leaf and return its node; a second entry of an id replaces the first, as in Pi."""
        code = self._kind_codes[kind]
        fresh = entry_id not in self
        node = len(self._ids) if fresh else self._index()[entry_id]
        if not fresh:
            self._replace(node, entry_id, code, place)
        else:
            if self._node_of is None:
                self._known.add(entry_id)
            else:
                self._node_of[entry_id] = node
            self._ids.append(entry_id)
            self._kinds.append(code)
            self.places.add(place)
        if parent_id and self.leaf >= 0 and self._ids[self.leaf] == parent_id and self.leaf < node:
            parent = self.leaf
        else:
            parent = self._unresolved(node, parent_id)
        if parent != node - 1 or node in self._breaks:
            self._breaks[node] = parent
        self.leaf = node
        return node

    def _replace(self, node: int, entry_id: str, code: int, place: Place) -> None:
        self._ordered = False
        first = self.places[node].line
        message = f"the id {entry_id!r} was used on line {first} already; this later entry replaces that one"
        self._findings.append(Finding(place.line, "duplicate", message, entry_id))
        self._missing.pop(node, None)
        self._kinds[node] = code
        self.places.move(node, place)

    def codes(self, kinds: Iterable[Kind]) -> list[int]:
        """The numbers that stand for kinds in `extend`."""
        return list(map(self._kind_codes.__getitem__, kinds))

    def has_type(self, type_: str, codes: Iterable[int]) -> bool:
        """Whether one of these codes is of a type."""
        wanted = {code for (kind, _), code in self._kind_codes.items() if kind == type_}
        return bool(wanted) and not wanted.isdisjoint(codes)

    def _unresolved(self, node: int, parent_id: str | None) -> int:
        if not parent_id:
            return ROOT
        self._missing[node] = parent_id
        return MISSING

    def settle(self) -> None:
        """Find the parents that are not simply the entry before, and cut cycles; called once, when a file was read."""
        wanted = set(self._missing.values())
        if self._node_of is not None:
            found = {parent_id: self._node_of[parent_id] for parent_id in wanted if parent_id in self._node_of}
        elif wanted:
            found = {entry_id: node for node, entry_id in enumerate(self._ids) if entry_id in wanted}
        else:
            found = {}
        for node, parent_id in list(self._missing.items()):
            parent = found.get(parent_id)
            if parent is not None:
                self._breaks[node] = parent
                self._ordered = self._ordered and parent < node
                del self._missing[node]
        if not self._ordered:
            self._cut_cycles()
        for node, parent_id in self._missing.items():
            message = f"the parent {parent_id!r} of {self._ids[node]!r} is not in this file; its branch begins here"
            self._findings.append(Finding(self.places[node].line, "orphan", message, self._ids[node]))

    def _cut_cycles(self) -> None:
        parents = list(map(self.parent, range(len(self._ids))))
        state = bytearray(len(parents))  # 0 unseen, 1 on the present walk, 2 done
        for start in range(len(parents)):
            walked: list[int] = []
            node = start
            while node >= 0 and state[node] == 0:
                state[node] = 1
                walked.append(node)
                node = parents[node]
            if node >= 0 and state[node] == 1:
                self._cut_at_earliest_line(walked[walked.index(node) :])
            for member in walked:
                state[member] = 2

    def _cut_at_earliest_line(self, members: list[int]) -> None:
        lines = {member: place.line for member, place in zip(members, self.places.of(members), strict=True)}
        # A parent is written before its children: the edge of the earliest line is the wrong one.
        first = min(members, key=lines.__getitem__)
        names = ", ".join(self._ids[member] for member in members[:4]) + (" …" if len(members) > 4 else "")
        message = f"its parents lead back to it ({names}); the branch begins here"
        self._findings.append(Finding(lines[first], "cycle", message, self._ids[first]))
        self._cut[first] = self._ids[self.parent(first)]
        self._breaks[first] = CUT

    @property
    def findings(self) -> list[Finding]:
        """Duplicates, orphans and cycles."""
        return list(self._findings)

    def node(self, entry_id: str) -> int | None:
        """The node of an id; None: no such entry."""
        return self._index().get(entry_id)

    def id(self, node: int) -> str:
        """The id of a node."""
        return self._ids[node]

    def ids(self, nodes: Iterable[int]) -> list[str]:
        """The ids of nodes."""
        if isinstance(nodes, range) and nodes.step == 1:
            return self._ids[nodes.start : nodes.stop]
        return list(map(self._ids.__getitem__, nodes))

    def parent(self, node: int) -> int:
        """The parent's node, or ROOT, MISSING, CUT."""
        return self._breaks.get(node, node - 1)  # the node before the first one is ROOT

    def parent_id(self, node: int) -> str | None:
        """The parent's id as the entry gives it, whether that entry exists or not; None: a root."""
        parent = self.parent(node)
        if parent >= 0:
            return self._ids[parent]
        return self._missing.get(node) or self._cut.get(node)

    def place(self, node: int) -> Place:
        """Where the line of a node lies."""
        return self.places[node]

    def path(self, node: int) -> Sequence[int]:
        """The nodes from the root to `node`; costs less than its depth where entries follow on each other."""
        pieces = list(self._pieces(node))
        if len(pieces) == 1:
            return pieces[0]
        walked = array("I")
        for piece in reversed(pieces):
            walked.extend(piece)
        return walked

    def _pieces(self, node: int) -> Iterator[range]:
        """The path from `node` up to the root, in pieces whose nodes follow on each other; each piece root first."""
        if len(self._break_order) != len(self._breaks):
            self._break_order = array("I", sorted(self._breaks))
        order = self._break_order
        while node >= 0:
            position = bisect_right(order, node)
            start = order[position - 1] if position else 0
            yield range(start, node + 1)
            node = self.parent(start)

    def latest(self, node: int, type_: str, custom_type: str | None = None) -> int | None:
        """The nearest entry of a kind at or above `node`; no line is read. `custom_type` None: any."""
        wanted = self._codes_of(type_, custom_type)
        if not wanted:
            return None
        kinds = self._kinds
        return next(
            (above for piece in self._pieces(node) for above in reversed(piece) if kinds[above] in wanted), None
        )

    def positions(self, nodes: Sequence[int], type_: str, custom_type: str | None = None) -> list[int]:
        """Where in `nodes` entries of a kind stand; no line is read. `custom_type` None: any."""
        wanted = self._codes_of(type_, custom_type)
        kinds = self._kinds
        return [index for index, node in enumerate(nodes) if kinds[node] in wanted] if wanted else []

    def _codes_of(self, type_: str, custom_type: str | None) -> set[int]:
        return {
            code
            for (kind, custom), code in self._kind_codes.items()
            if kind == type_ and (custom_type is None or custom == custom_type)
        }

    def of_type(self, type_: str) -> list[int]:
        """Every node of a type, in order of first appearance."""
        wanted = self._codes_of(type_, None)
        return [node for node, code in enumerate(self._kinds) if code in wanted] if wanted else []

    def kind(self, node: int) -> Kind:
        """Type and custom type of a node."""
        if len(self._kind_list) != len(self._kind_codes):
            self._kind_list = list(self._kind_codes)
        return self._kind_list[self._kinds[node]]

    def chains(self) -> Iterator[tuple[range, int]]:
        """Every node once, depth first: nodes that follow on each other, and how often branches part above them.

        Orphans and cut entries stand beside the roots. Only the places where something other than the next entry
        follows are kept: a long session without branches is one chain.
        """
        below: dict[int, list[int]] = {}
        for node in sorted(self._breaks):
            below.setdefault(max(self._breaks[node], ROOT), []).append(node)
        ends = sorted({len(self._ids) - 1, *(node - 1 for node in self._breaks), *below} - {ROOT})

        def children(node: int) -> list[int]:
            follower = [node + 1] if node + 1 < len(self._ids) and node + 1 not in self._breaks else []
            return sorted(follower + below.get(node, []))

        stack = [(node, 0) for node in reversed(children(ROOT))]
        while stack:
            first, depth = stack.pop()
            last = ends[bisect_left(ends, first)]
            yield range(first, last + 1), depth
            following = children(last)
            deeper = depth + 1 if len(following) > 1 else depth
            stack.extend((node, deeper) for node in reversed(following))

    def marks(self, node: int) -> bytearray:
        """One byte for each node: 1 on the way from the root to `node`, 0 elsewhere."""
        marked = bytearray(len(self._ids))
        for piece in self._pieces(node):
            marked[piece.start : piece.stop] = b"\1" * len(piece)
        return marked
