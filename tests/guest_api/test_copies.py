"""Own copies and own decorators of context managers do what the standard library's do, without its ways in."""

import collections
import contextlib
import copy
import dataclasses
import decimal
import io
import random
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from guest_api.inside.modules import classes, functions
from guest_api.results import Result


class Plain:
    pass


class Slots:
    __slots__ = ("a", "b")


class ListOf(list[Any]):
    pass


class DictOf(dict[str, Any]):
    pass


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    number: int
    inside: Any


class Maker:
    """Random structures that share parts and hold themselves."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._made: list[Any] = []

    def make(self, depth: int = 0) -> Any:
        if self._made and self._random.random() < 0.15:
            return self._random.choice(self._made)
        ways = self._leaves() if depth > 3 or self._random.random() < 0.3 else self._nodes(depth + 1)
        return self._random.choice(ways)()

    def _leaves(self) -> list[Callable[[], Any]]:
        return [
            lambda: 1,
            lambda: "x",
            lambda: None,
            lambda: b"x",
            lambda: decimal.Decimal("1.5"),
            lambda: uuid.UUID(int=5),
        ]

    def _nodes(self, depth: int) -> list[Callable[[], Any]]:
        def filled(value: Any, *attributes: str) -> Any:
            self._made.append(value)
            if isinstance(value, dict):
                value.update({key: self.make(depth) for key in "kl"})
            elif isinstance(value, list | collections.deque):
                value.extend([self.make(depth) for _ in "kl"])
            for name in attributes:
                setattr(value, name, self.make(depth))
            return value

        return [
            lambda: filled([]),
            lambda: filled({}),
            lambda: (self.make(depth), self.make(depth)),
            lambda: filled(Plain(), "x", "y"),
            lambda: filled(Slots(), "a"),
            lambda: filled(ListOf(), "x"),
            lambda: filled(DictOf(), "x"),
            lambda: filled(collections.deque()),
            lambda: filled(collections.defaultdict(list)),
            lambda: filled(collections.OrderedDict()),
            lambda: filled(ValueError(1), "x"),
            lambda: Frozen(1, self.make(depth)),
        ]


def shape(value: Any, seen: dict[int, int]) -> Any:
    """What it is, with every identity as a number."""
    if type(value) is tuple:
        return [shape(item, seen) for item in value]
    if isinstance(value, int | str | bytes | decimal.Decimal | uuid.UUID | None):
        return repr(value)
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    parts: list[Any] = [type(value).__name__]
    if isinstance(value, dict):
        parts += [(key, shape(item, seen)) for key, item in value.items()]
    elif isinstance(value, list | collections.deque):
        parts += [shape(item, seen) for item in value]
    named = {**getattr(value, "__dict__", {})}
    named |= {name: getattr(value, name) for name in ("a", "b", "number", "inside") if hasattr(value, name)}
    return [*parts, [(name, shape(item, seen)) for name, item in sorted(named.items())]]


def test_a_deep_copy_is_what_the_standard_librarys_is() -> None:
    for seed in range(400):
        value = Maker(seed).make()
        assert shape(functions.deep_copy(value), {}) == shape(copy.deepcopy(value), {}), seed


def test_a_deep_copy_shares_nothing_that_could_change() -> None:
    value = {"a": [1, {"b": io.BytesIO(b"x")}]}
    made = functions.deep_copy(value)
    value["a"][1]["b"].write(b"yz")  # type: ignore[index]
    assert made["a"][1]["b"].getvalue() == b"x"


def test_an_object_may_note_its_own_copy_in_the_memo_as_classes_do() -> None:
    class Node:
        def __init__(self) -> None:
            self.other: Any = None

        def __deepcopy__(self, memo: dict[int, Any]) -> "Node":
            memo[id(self)] = made = Node()
            made.other = functions.deep_copy(self.other, memo)
            return made

    node = Node()
    node.other = [node]
    made = functions.deep_copy(node)
    assert made is not node
    assert made.other[0] is made


def test_a_memo_names_no_attribute_and_replaces_no_class() -> None:
    class Evil:
        def __deepcopy__(self, memo: dict[int, Any]) -> int:
            for held in list(memo.values()):
                if isinstance(held, dict):
                    held["b"] = "injected"
            return 0

    slots, plain = Slots(), Plain()
    slots.a = plain.a = Evil()  # type: ignore[attr-defined]
    for value in (slots, plain):
        assert not hasattr(functions.deep_copy(value), "b")
        assert not hasattr(classes.asdict(Frozen(1, value))["inside"], "b")
        assert not hasattr(classes.astuple(Frozen(1, value))[1], "b")
    assert type(functions.deep_copy(plain, {id(Plain): Slots})) is Plain


@dataclasses.dataclass
class Holder:
    rows: Any
    inner: Any = None


Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024


@pytest.mark.parametrize(
    "rows",
    [
        [1, (2, Holder(3))],
        {"a": Holder([4]), Frozen(1, 2): 5},
        Pair(Holder(1), [2]),
        collections.defaultdict(list, a=[Holder(1)]),
        collections.OrderedDict(b=1),
        {1, 2},
    ],
)
def test_asdict_and_astuple_answer_what_the_standard_librarys_do(rows: Any) -> None:
    value = Holder(rows, Holder(None))
    try:
        wanted = dataclasses.asdict(value), dataclasses.astuple(value)
    except TypeError:  # 3.11 cannot take a defaultdict apart, and no version a key that becomes a dict
        return
    assert (classes.asdict(value), classes.astuple(value)) == wanted
    assert type(classes.asdict(value)["rows"]) is type(wanted[0]["rows"])


def test_what_is_no_dataclass_instance_is_not_taken_apart() -> None:
    for take in (classes.asdict, classes.astuple):
        for value in (Holder, 1, Plain()):
            with pytest.raises(TypeError, match="should be called on dataclass instances"):
                take(value)


def test_the_fields_of_an_object_are_those_of_its_class() -> None:
    value = Holder(1)
    value.__dict__["__dataclass_fields__"] = {}
    for use in (classes.fields, classes.replace):
        with pytest.raises(TypeError, match="are not those of its class"):
            use(value)
    assert [each.name for each in classes.fields(Holder(1))] == ["rows", "inner"]


async def test_a_context_manager_decorates_functions_and_copies_none_of_their_attributes() -> None:
    steps: list[str] = []

    @functions.contextmanager
    def around(name: str) -> Any:
        steps.append(f"in {name}")
        yield
        steps.append(f"out {name}")

    @functions.asynccontextmanager
    async def around_async(name: str) -> Any:
        steps.append(f"in {name}")
        yield
        steps.append(f"out {name}")

    def work(value: int) -> int:
        """Work."""
        return value + 1

    async def work_async(value: int) -> int:
        return value + 2

    work.marker = work_async.marker = 1  # type: ignore[attr-defined]
    plain, waiting = around("a")(work), around_async("b")(work_async)
    assert [plain(1), plain(2), await waiting(1), await waiting(2)] == [2, 3, 3, 4]
    assert steps == ["in a", "out a"] * 2 + ["in b", "out b"] * 2
    assert (plain.__name__, plain.__doc__, waiting.__name__) == ("work", "Work.", "work_async")
    assert not hasattr(plain, "marker")
    assert not hasattr(waiting, "marker")
    assert isinstance(around("a"), contextlib.AbstractContextManager)


def test_a_key_of_a_result_answers_no_name_that_the_language_looks_up() -> None:
    result = Result({"__bases__": (), "__deepcopy__": 1, "_private": 2, "name": 3})
    for name in ("__bases__", "__deepcopy__"):
        assert not hasattr(result, name)
    assert (result._private, result.name, result["__bases__"]) == (2, 3, ())
