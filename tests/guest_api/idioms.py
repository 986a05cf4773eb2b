"""Ordinary programs as people and models write them: name, source, expected result. `tests/guest_api/test_idioms.py` runs them."""

IDIOMS: list[tuple[str, str, object]] = []


def _idiom(name: str, expected: object, source: str) -> None:
    IDIOMS.append((name, source.strip("\n"), expected))


_idiom("a top-level return", 3, "return 1 + 2")
_idiom("no return at all", None, "x = 1")
_idiom("an empty program", None, "")
_idiom("only a comment", None, "# nothing")
_idiom("input", 6, "return sum(input['numbers'])")
_idiom(
    "a bare builtin list",
    [2, [[1, 2]], [[0, "x"]], 10],
    'return [len("ab"), list(zip([1],[2])), list(enumerate("x")), sum(range(5))]',
)
_idiom(
    "a class hierarchy with super",
    "Rex makes a sound: Woof",
    """
class Animal:
    def __init__(self, name):
        self.name = name
    def speak(self):
        return f"{self.name} makes a sound"

class Dog(Animal):
    def __init__(self, name):
        super().__init__(name)
        self.sound = "Woof"
    def speak(self):
        return super().speak() + ": " + self.sound

return Dog("Rex").speak()
""",
)
_idiom(
    "a dataclass with defaults and methods",
    [3, "Point(x=1, y=2)", True, {"x": 1, "y": 2}],
    """
from dataclasses import dataclass, asdict
@dataclass
class Point:
    x: int
    y: int = 2
    def total(self) -> int:
        return self.x + self.y
p = Point(1)
return [p.total(), repr(p)[-15:], p == Point(1, 2), asdict(p)]
""",
)
_idiom(
    "a dataclass with field factories, ordering and frozen",
    [[1], [], True, "FrozenInstanceError"],
    """
from dataclasses import dataclass, field, FrozenInstanceError
@dataclass
class Bag:
    items: list = field(default_factory=list)
@dataclass(order=True, frozen=True)
class Version:
    major: int
    minor: int = field(default=0)
a, b = Bag(), Bag()
a.items.append(1)
try:
    Version(1).major = 2
except FrozenInstanceError as error:
    name = type(error).__name__
return [a.items, b.items, Version(1) < Version(2), name]
""",
)
_idiom(
    "dataclass markers: ClassVar, InitVar, KW_ONLY",
    [["x", "y"], 5, 7],
    """
from dataclasses import dataclass, fields, InitVar, KW_ONLY
from typing import ClassVar
@dataclass
class A:
    count: ClassVar[int] = 5
    x: int
    scale: InitVar[int] = 1
    _: KW_ONLY
    y: int = 0
    def __post_init__(self, scale):
        self.y = self.x * scale
a = A(7, 1, y=3)
return [[f.name for f in fields(A)], A.count, a.y]
""",
)
_idiom(
    "dataclass inheritance, replace and slots",
    ["B(a=1, b=9)", [1, 9]],
    """
import dataclasses
@dataclasses.dataclass
class A:
    a: int
@dataclasses.dataclass(slots=True)
class B(A):
    b: int = 2
b = dataclasses.replace(B(1), b=9)
return [repr(b).split(".")[-1], list(dataclasses.astuple(b))]
""",
)
_idiom(
    "an enum with auto, lookup and iteration",
    ["RED", 1, "Color.GREEN", ["RED", "GREEN"], True],
    """
from enum import Enum, auto
class Color(Enum):
    RED = auto()
    GREEN = auto()
return [Color.RED.name, Color.RED.value, str(Color(2)), [c.name for c in Color], Color["RED"] is Color.RED]
""",
)
_idiom(
    "int, str and flag enums",
    [3, "b", 3, True],
    """
from enum import IntEnum, StrEnum, Flag, IntFlag
class N(IntEnum):
    ONE = 1
    TWO = 2
class S(StrEnum):
    A = "a"
    B = "b"
class P(Flag):
    R = 1
    W = 2
return [N.ONE + N.TWO, str(S.B), (P.R | P.W).value, P.R in (P.R | P.W)]
""",
)
_idiom(
    "an enum with methods and a value type",
    ["Mercury 2", "high"],
    """
import enum
class Planet(enum.Enum):
    MERCURY = (1, 2)
    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius
    @property
    def label(self):
        return f"{self.name.title()} {self.radius}"
    @classmethod
    def _missing_(cls, value):
        return cls.MERCURY
class Level(str, enum.Enum):
    HIGH = "high"
return [Planet(99).label, Level.HIGH.value]
""",
)
_idiom(
    "match on literals, mappings, sequences, classes",
    ["zero", "two 1 2", "map 5", "point 3", "other"],
    """
from dataclasses import dataclass
@dataclass
class P:
    x: int
def kind(value):
    match value:
        case 0:
            return "zero"
        case [a, b]:
            return f"two {a} {b}"
        case {"k": k, **rest}:
            return f"map {k}"
        case P(x=x) if x > 1:
            return f"point {x}"
        case _:
            return "other"
return [kind(v) for v in (0, [1, 2], {"k": 5}, P(3), "?")]
""",
)
_idiom(
    "match with positional class patterns",
    7,
    "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nmatch {'a': P(7)}:\n    case {'a': P(v)}:\n        return v",
)
_idiom(
    "nested comprehensions",
    [[0, 0], [0, 1], {"a": 1}, [2, 4]],
    "return [[i * j for j in range(2)] for i in range(2)] + [{k: v for k, v in [('a', 1)]}, sorted({x * 2 for x in (1, 2)})]",
)
_idiom(
    "a context manager class",
    ["in", "body", "out"],
    """
log = []
class Scope:
    def __enter__(self):
        log.append("in")
        return self
    def __exit__(self, kind, error, tb):
        log.append("out")
        return True
with Scope() as s, Scope():
    log.append("body")
    raise ValueError("swallowed")
return log[1:4]
""",
)
_idiom(
    "contextlib",
    [["open", "use", "close"], None, 1],
    """
from contextlib import contextmanager, suppress, ExitStack, nullcontext
log = []
@contextmanager
def opened(name):
    log.append("open")
    try:
        yield name
    finally:
        log.append("close")
with opened("f") as name:
    log.append("use")
with suppress(KeyError):
    {}["x"]
with ExitStack() as stack:
    stack.callback(lambda: None)
    stack.enter_context(nullcontext(1))
return [log, opened.__doc__, 1]
""",
)
_idiom(
    "an async context manager and asynccontextmanager",
    ["a", "b", "c", "d"],
    """
from contextlib import asynccontextmanager
log = []
class Conn:
    async def __aenter__(self):
        log.append("a")
        return self
    async def __aexit__(self, *exc):
        log.append("b")
async with Conn():
    pass
@asynccontextmanager
async def session():
    log.append("c")
    yield 1
    log.append("d")
async with session() as n:
    pass
return log
""",
)
_idiom(
    "generators: yield, yield from, send, close",
    [[0, 1, 2], 10, "closed"],
    """
def count(n):
    yield from range(n)
def echo():
    got = None
    try:
        while True:
            got = yield got
    except GeneratorExit:
        log.append("closed")
        raise
log = []
e = echo()
next(e)
sent = e.send(10)
e.close()
return [list(count(3)), sent, log[0]]
""",
)
_idiom(
    "async generators and async for",
    [[0, 1, 4], [0, 2], 3],
    """
async def squares(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i * i
total = []
async for s in squares(3):
    total.append(s)
class Range:
    def __init__(self, n):
        self.n, self.i = n, -1
    def __aiter__(self):
        return self
    async def __anext__(self):
        self.i += 1
        if self.i >= self.n:
            raise StopAsyncIteration
        return self.i
return [total, [x async for x in Range(4) if x % 2 == 0], len([y async for y in squares(3)])]
""",
)
_idiom(
    "try, except, else, finally",
    ["else", "finally", "KeyError 'k'", "cause"],
    """
log = []
try:
    pass
except ValueError:
    log.append("no")
else:
    log.append("else")
finally:
    log.append("finally")
try:
    {}["k"]
except (KeyError, IndexError) as e:
    log.append(f"{type(e).__name__} {e}")
try:
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise RuntimeError("x") from e
except RuntimeError as e:
    log.append("cause" if isinstance(e.__cause__, ZeroDivisionError) else "none")
return log
""",
)
_idiom(
    "finally runs on return",
    ["f"],
    "log = []\ndef f():\n    try:\n        return log\n    finally:\n        log.append('f')\nreturn f()",
)
_idiom(
    "custom exceptions",
    ["E: bad 7", 7],
    "class E(Exception):\n    def __init__(self, code):\n        super().__init__(f'bad {code}')\n        self.code = code\ntry:\n    raise E(7)\nexcept E as e:\n    return [f'{type(e).__name__}: {e}', e.code]",
)
_idiom(
    "f-strings",
    ["   3.14", "x=5", "'a'", "1,000", "2026"],
    "import datetime\nx = 5\nw = 7\nreturn [f'{3.14159:{w}.2f}', f'{x=}', f'{\"a\"!r}', f'{1000:,}', f'{datetime.date(2026, 1, 2):%Y}']",
)
_idiom(
    "str.format",
    ["1 b", "007", "3 4", "a=1", "{}"],
    "class P:\n    x = 3\nreturn ['{} {}'.format(1, 'b'), '{:03d}'.format(7), '{0.x} {1[0]}'.format(P(), [4]), 'a={a}'.format_map({'a': 1}), '{{}}'.format()]",
)
_idiom(
    "str.format with nested specs and conversions",
    ["    x", "'x'", "ab"],
    "return ['{:>{w}}'.format('x', w=5), '{!r}'.format('x'), '{a}{b}'.format(**{'a': 'a', 'b': 'b'})]",
)
_idiom(
    "unbound str.format and a stored template",
    ["hi Bo", "hi Al"],
    "t = 'hi {name}'\nreturn [str.format(t, name='Bo'), t.format(name='Al')]",
)
_idiom(
    "percent formatting and the format builtin",
    ["3 0x1f a", "1.50"],
    "return ['%d 0x%x %s' % (3, 31, 'a'), format(1.5, '.2f')]",
)
_idiom(
    "annotations are not evaluated",
    3,
    "def f(x: Undefined, *, y: 'Nope' = 1) -> Missing.Thing:\n    z: Nowhere = 2\n    w: Never\n    return x + z\nn: int = 1\nreturn f(n)",
)
_idiom(
    "an annotated attribute",
    4,
    "class A:\n    def __init__(self):\n        self.x: int = 4\n        self.y: dict[str, Undefined]\nreturn A().x",
)
_idiom(
    "nonlocal",
    3,
    "def counter():\n    n = 0\n    def bump():\n        nonlocal n\n        n += 1\n        return n\n    return bump\nb = counter()\nb(); b()\nreturn b()",
)
_idiom("nonlocal of a top-level name", 2, "n = 1\ndef bump():\n    nonlocal n\n    n += 1\nbump()\nreturn n")
_idiom(
    "a nested global of a top-level name",
    [3, 3],
    "n = 1\ndef bump():\n    global n\n    n += 1\nbump(); bump()\ndef read():\n    return n\nreturn [n, read()]",
)
_idiom(
    "a global first assigned in a function",
    [5, 6],
    "def setup():\n    global config\n    config = 5\ndef inner():\n    def deep():\n        global config\n        config += 1\n    deep()\nsetup()\nbefore = config\ninner()\nreturn [before, config]",
)
_idiom("global at the top level", 2, "global n\nn = 1\ndef f():\n    global n\n    n = 2\nf()\nreturn n")
_idiom(
    "decorators with arguments",
    ["3 3 3", "hello"],
    "def repeat(n):\n    def deco(f):\n        def inner(*a, **k):\n            return ' '.join([str(f(*a, **k))] * n)\n        return inner\n    return deco\n@repeat(3)\ndef add(a, b=2):\n    return a + b\nclass M:\n    @staticmethod\n    def hi():\n        return 'hello'\nreturn [add(1), M.hi()]",
)
_idiom(
    "functools.wraps",
    ["f", "doc", 2],
    "import functools\ndef deco(fn):\n    @functools.wraps(fn)\n    def wrapper(*args, **kwargs):\n        return fn(*args, **kwargs)\n    return wrapper\n@deco\ndef f(x):\n    'doc'\n    return x + 1\nreturn [f.__name__, f.__doc__, f(1)]",
)
_idiom(
    "lru_cache, partial, reduce, cached_property",
    [55, 3, 6, [1, 1]],
    "from functools import lru_cache, partial, reduce, cached_property\n@lru_cache(maxsize=None)\ndef fib(n):\n    return n if n < 2 else fib(n-1) + fib(n-2)\nclass A:\n    calls = 0\n    @cached_property\n    def v(self):\n        A.calls += 1\n        return A.calls\na = A()\nreturn [fib(10), partial(max, 3)(2), reduce(lambda x, y: x * y, [1, 2, 3]), [a.v, a.v]]",
)
_idiom(
    "total_ordering and cmp_to_key",
    [True, [3, 2, 1]],
    "from functools import total_ordering, cmp_to_key\n@total_ordering\nclass V:\n    def __init__(self, n):\n        self.n = n\n    def __eq__(self, o):\n        return self.n == o.n\n    def __lt__(self, o):\n        return self.n < o.n\nreturn [V(2) >= V(1), sorted([1, 3, 2], key=cmp_to_key(lambda a, b: b - a))]",
)
_idiom("walrus", [4, [2, 3]], "if (n := len('abcd')) > 3:\n    pass\nreturn [n, [y for x in range(4) if (y := x) > 1]]")
_idiom(
    "star arguments and unpacking",
    [[1, [2, 3], 4], [1, [2], {"k": 3}], [0, 1, 2]],
    "a, *b, c = [1, 2, 3, 4]\ndef f(x, *args, **kw):\n    return [x, list(args), kw]\nreturn [[a, b, c], f(*[1, 2], **{'k': 3}), [*range(2), 2]]",
)
_idiom(
    "positional-only and keyword-only parameters",
    [1, 2, 3],
    "def f(a, /, b, *, c):\n    return [a, b, c]\nreturn f(1, b=2, c=3)",
)
_idiom(
    "if __name__ == '__main__'",
    "main",
    "def main():\n    return 'main'\nif __name__ == \"__main__\":\n    result = main()\n    return result",
)
_idiom(
    "strftime and strptime",
    ["2026-01-02 03:04", 2026, "Fri"],
    "from datetime import datetime\nd = datetime(2026, 1, 2, 3, 4)\nreturn [d.strftime('%Y-%m-%d %H:%M'), datetime.strptime('2026', '%Y').year, d.strftime('%a')]",
)
_idiom(
    "from __future__", 1, "from __future__ import annotations\ndef f(x: Undefined) -> int:\n    return x\nreturn f(1)"
)
_idiom(
    "asyncio.run(main())",
    5,
    "import asyncio\nasync def main():\n    await asyncio.sleep(0.01)\n    return 5\nreturn asyncio.run(main())",
)
_idiom(
    "asyncio.run under the main guard, with a print",
    None,
    "import asyncio\nasync def main():\n    print('hi')\nif __name__ == '__main__':\n    asyncio.run(main())",
)
_idiom(
    "gather, create_task and results in order",
    [[0, 1, 2], "t"],
    "async def work(i):\n    await asyncio.sleep(3 - i)\n    return i\nt = asyncio.create_task(work(9), name='t')\nout = await asyncio.gather(*(work(i) for i in range(3)))\nawait t\nreturn [out, t.get_name()]",
)
_idiom(
    "gather with return_exceptions",
    ["1", "ValueError('no')"],
    "async def ok():\n    return 1\nasync def no():\n    raise ValueError('no')\nrs = await asyncio.gather(ok(), no(), return_exceptions=True)\nreturn [repr(r) for r in rs]",
)
_idiom(
    "a task group",
    [[1, 2], "boom"],
    "async def one(n):\n    await asyncio.sleep(n)\n    return n\nasync def bad():\n    raise ValueError('boom')\nasync with asyncio.TaskGroup() as tg:\n    a = tg.create_task(one(1))\n    b = tg.create_task(one(2))\ntry:\n    async with asyncio.TaskGroup() as tg:\n        tg.create_task(bad())\n        tg.create_task(one(100))\nexcept ValueError as e:\n    got = str(e)\nreturn [[a.result(), b.result()], got]",
)
_idiom(
    "timeout and wait_for",
    ["late", "late too", 1],
    "out = []\ntry:\n    async with asyncio.timeout(1):\n        await asyncio.sleep(50)\nexcept TimeoutError:\n    out.append('late')\ntry:\n    await asyncio.wait_for(asyncio.sleep(60), timeout=0.5)\nexcept asyncio.TimeoutError:\n    out.append('late too')\nout.append(await asyncio.wait_for(asyncio.sleep(0.1, 1), 5))\nreturn out",
)
_idiom(
    "queue with workers",
    [0, 1, 4, 9],
    "q = asyncio.Queue()\nout = []\nasync def worker():\n    while True:\n        n = await q.get()\n        await asyncio.sleep(0.01)\n        out.append(n * n)\n        q.task_done()\nworkers = [asyncio.create_task(worker()) for _ in range(2)]\nfor i in range(4):\n    await q.put(i)\nawait q.join()\nfor w in workers:\n    w.cancel()\nawait asyncio.gather(*workers, return_exceptions=True)\nreturn sorted(out)",
)
_idiom(
    "semaphore, lock and event",
    [2, ["set"]],
    "sem = asyncio.Semaphore(2)\nlock = asyncio.Lock()\nevent = asyncio.Event()\nactive = peak = 0\nlog = []\nasync def job():\n    nonlocal active, peak\n    async with sem:\n        active += 1\n        peak = max(peak, active)\n        await asyncio.sleep(0.1)\n        async with lock:\n            active -= 1\nasync def waiter():\n    await event.wait()\n    log.append('set')\nw = asyncio.create_task(waiter())\nawait asyncio.gather(*(job() for _ in range(5)))\nevent.set()\nawait w\nreturn [peak, log]",
)
_idiom(
    "as_completed and wait",
    [[1, 2, 3], 1, 2],
    "async def w(n):\n    await asyncio.sleep(n)\n    return n\nfirst = [await f for f in asyncio.as_completed([w(3), w(1), w(2)])]\ndone, pending = await asyncio.wait([asyncio.create_task(w(n)) for n in (1, 5, 6)], return_when=asyncio.FIRST_COMPLETED)\nreturn [first, len(done), len(pending)]",
)
_idiom(
    "cancellation and finally",
    ["cleanup", "cancelled", True],
    "log = []\nasync def long():\n    try:\n        await asyncio.sleep(100)\n    finally:\n        log.append('cleanup')\nt = asyncio.create_task(long())\nawait asyncio.sleep(0)\nt.cancel()\ntry:\n    await t\nexcept asyncio.CancelledError:\n    log.append('cancelled')\nreturn log + [t.cancelled()]",
)
_idiom(
    "time.sleep and the clocks",
    [True, True],
    "import time\nstart = time.perf_counter()\ntime.sleep(0.01)\nreturn [time.perf_counter() >= start, time.time() > 0]",
)
_idiom(
    "del",
    [{"b": 2}, [1], "UnboundLocalError"],
    "d = {'a': 1, 'b': 2}\ndel d['a']\nl = [1, 2]\ndel l[1:]\ndef f():\n    x = 1\n    del x\n    try:\n        x\n    except NameError as e:\n        return type(e).__name__\nreturn [d, l, f()]",
)
_idiom(
    "augmented assignment everywhere",
    [3, [2], {"k": 5}],
    "class A:\n    b = 1\na = A()\na.b += 2\nl = [1]\nl[0] += 1\nd = {'k': 2}\nd['k'] += 3\nreturn [a.b, l, d]",
)
_idiom(
    "lambda and sorting",
    [["b", "a"], [3, 2, 1], 1, "c"],
    "d = {'a': 2, 'b': 1}\nreturn [sorted(d, key=lambda k: d[k]), sorted([1, 3, 2], reverse=True), min([3, 1], key=lambda x: x), max('abc')]",
)
_idiom(
    "type(x) and isinstance",
    ["int", True, True, "A", True],
    "class A:\n    def who(self):\n        return type(self).__name__\nreturn [type(1).__name__, isinstance(1, (int, str)), type(1) == int, A().who(), issubclass(A, object)]",
)
_idiom(
    "property, setter, classmethod, staticmethod",
    [212, 0, "made", 3],
    "class T:\n    def __init__(self, c):\n        self._c = c\n    @property\n    def f(self):\n        return self._c * 9 // 5 + 32\n    @f.setter\n    def f(self, v):\n        self._c = (v - 32) * 5 // 9\n    @classmethod\n    def make(cls):\n        return 'made'\n    @staticmethod\n    def add(a, b):\n        return a + b\nt = T(100)\nbefore = t.f\nt.f = 32\nreturn [before, t._c, T.make(), T.add(1, 2)]",
)
_idiom(
    "TypedDict, NamedTuple, Protocol",
    [{"name": "a"}, [1, 2], "P(x=1, y=2)", "quack"],
    "from typing import TypedDict, NamedTuple, Protocol\nclass U(TypedDict, total=False):\n    name: str\nclass P(NamedTuple):\n    x: int\n    y: int = 2\nclass Quacks(Protocol):\n    def quack(self) -> str: ...\nclass Duck:\n    def quack(self) -> str:\n        return 'quack'\nu: U = {'name': 'a'}\np = P(1)\nreturn [U(name='a'), list(p), repr(p), Duck().quack()]",
)
_idiom(
    "collections.namedtuple",
    [1, {"x": 1, "y": 2}, [9, 2], "Point(x=1, y=2)"],
    "from collections import namedtuple\nPoint = namedtuple('Point', 'x y', defaults=[2])\np = Point(1)\nreturn [p.x, p._asdict(), list(p._replace(x=9)), repr(p)]",
)
_idiom(
    "typing generics and aliases",
    ["s", 1, [1]],
    "from typing import Generic, TypeVar, Optional, Union, List, Dict, Callable, Any, Iterable, Literal, cast\nT = TypeVar('T')\nVector = List[float]\nMaybe = Optional[int]\nKind = Literal['a', 'b']\nclass Stack(Generic[T]):\n    def __init__(self) -> None:\n        self.items: List[T] = []\n    def push(self, item: T) -> None:\n        self.items.append(item)\ns = Stack[int]()\ns.push(1)\ndef f(x: Optional[Vector], cb: Callable[[int], str]) -> Union[int, None]: ...\nreturn ['s', cast(int, 1), s.items]",
)
_idiom(
    "slots",
    [1, "AttributeError"],
    "class A:\n    __slots__ = ('x', 'y')\n    def __init__(self):\n        self.x = 1\na = A()\ntry:\n    a.z = 1\nexcept AttributeError as e:\n    return [a.x, type(e).__name__]",
)
_idiom(
    "operator methods",
    [[4, 6], True, 2, "V(1, 2)", [1, 2], 3, [-1, -2]],
    "class V:\n    def __init__(self, x, y):\n        self.x, self.y = x, y\n    def __add__(self, o):\n        return V(self.x + o.x, self.y + o.y)\n    def __eq__(self, o):\n        return (self.x, self.y) == (o.x, o.y)\n    def __hash__(self):\n        return hash((self.x, self.y))\n    def __len__(self):\n        return 2\n    def __repr__(self):\n        return f'V({self.x}, {self.y})'\n    def __iter__(self):\n        yield self.x\n        yield self.y\n    def __call__(self):\n        return self.x + self.y\n    def __neg__(self):\n        return V(-self.x, -self.y)\nv = V(1, 2)\nreturn [list(v + V(3, 4)), v == V(1, 2), len(v), repr(v), list(v), v(), list(-v)]",
)
_idiom(
    "containers of one's own",
    [1, True, 2, "missing k"],
    "class D:\n    def __init__(self):\n        self.d = {}\n    def __getitem__(self, k):\n        return self.d[k]\n    def __setitem__(self, k, v):\n        self.d[k] = v\n    def __contains__(self, k):\n        return k in self.d\n    def __delitem__(self, k):\n        del self.d[k]\nclass M(dict):\n    def __missing__(self, k):\n        return 'missing ' + k\nd = D()\nd['a'] = 1\nd['b'] = 2\nout = [d['a'], 'a' in d, d['b']]\ndel d['a']\nreturn out + [M()['k']]",
)
_idiom(
    "aliasing a method in a class body",
    ["x", False],
    "class A:\n    def __repr__(self):\n        return 'x'\n    __str__ = __repr__\n    __hash__ = None\ntry:\n    hash(A())\n    ok = True\nexcept TypeError:\n    ok = False\nreturn [str(A()), ok]",
)
_idiom(
    "private attributes with mangling",
    [100, 1],
    "class Account:\n    def __init__(self):\n        self.__balance = 100\n        self._owner = 1\n    def balance(self):\n        return self.__balance\nreturn [Account().balance(), Account()._owner]",
)
_idiom(
    "everyday modules",
    ["2026-01-01T00:00:00", 5.0, 2, ["a"], "YQ==", True],
    "from datetime import datetime, time, timedelta\nimport json, re, math, itertools, collections, statistics, base64, hashlib, textwrap\nreturn [datetime(2026, 1, 1).isoformat(), math.hypot(3, 4), statistics.mean([1, 3]), re.findall('a', 'ab'), base64.b64encode(b'a').decode(), len(hashlib.sha256(b'').hexdigest()) == 64]",
)
_idiom(
    "Counter, defaultdict, deque, OrderedDict",
    [[["a", 2]], {"k": [1]}, [2, 1], ["x"]],
    "from collections import Counter, defaultdict, deque, OrderedDict\nd = defaultdict(list)\nd['k'].append(1)\nq = deque([1])\nq.appendleft(2)\nreturn [Counter('aab').most_common(1), d, list(q), list(OrderedDict(x=1))]",
)
_idiom(
    "itertools, operator, heapq, bisect",
    [[1, 2, 3], [["a", 1]], [1, 2], 1, [["a", [1, 2]]]],
    "import itertools, heapq, bisect\nfrom operator import itemgetter, add\nrows = [('a', 1), ('a', 2)]\nreturn [list(itertools.chain([1], [2, 3])), sorted({'a': 1}.items(), key=itemgetter(1)), heapq.nsmallest(2, [3, 1, 2]), bisect.bisect([1, 3], 2), [[k, [r[1] for r in g]] for k, g in itertools.groupby(rows, key=itemgetter(0))]]",
)
_idiom(
    "decimal, fractions, random, uuid",
    ["0.3", "3/4", True, 36],
    "from decimal import Decimal\nfrom fractions import Fraction\nimport random, uuid\nrandom.seed(1)\nreturn [str(Decimal('0.1') + Decimal('0.2')), str(Fraction(1, 2) + Fraction(1, 4)), 0 <= random.random() < 1 <= random.randint(1, 6), len(str(uuid.uuid4()))]",
)
_idiom(
    "copy, difflib, textwrap, string",
    [[[1], [1, 2]], ["ape"], "a...", "abc"],
    "import copy, difflib, textwrap, string\na = [[1]]\nb = copy.deepcopy(a)\nb[0].append(2)\nreturn [[a[0], b[0]], difflib.get_close_matches('appe', ['ape', 'zoo']), textwrap.shorten('a b c d e', width=4, placeholder='...'), string.ascii_lowercase[:3]]",
)
_idiom(
    "json round trip and encoder",
    [{"a": [1, None]}, '{"d": "2026-01-01"}', "JSONDecodeError"],
    "import json, datetime\nclass E(json.JSONEncoder):\n    def default(self, o):\n        return o.isoformat()\ntry:\n    json.loads('{')\nexcept json.JSONDecodeError as e:\n    name = type(e).__name__\nreturn [json.loads(json.dumps({'a': [1, None]})), json.dumps({'d': datetime.date(2026, 1, 1)}, cls=E), name]",
)
_idiom(
    "regular expressions",
    [["k", "v"], "b-a", "XX"],
    "import re\nm = re.match(r'(?P<key>\\w+)=(\\w+)', 'k=v')\nreturn [[m.group('key'), m[2]], re.sub(r'(a)-(b)', r'\\2-\\1', 'a-b'), re.sub('x', lambda m: m.group().upper(), 'xx')]",
)
_idiom(
    "csv and StringIO",
    [[{"a": "1", "b": "2"}], "x,y\r\n"],
    "import csv, io\nout = io.StringIO()\ncsv.writer(out).writerow(['x', 'y'])\nreturn [list(csv.DictReader(io.StringIO('a,b\\n1,2\\n'))), out.getvalue()]",
)
_idiom(
    "abstract base classes",
    ["area 4", "TypeError"],
    "from abc import ABC, abstractmethod\nclass Shape(ABC):\n    @abstractmethod\n    def area(self): ...\nclass Square(Shape):\n    def __init__(self, s):\n        self.s = s\n    def area(self):\n        return self.s ** 2\ntry:\n    Shape()\n    name = 'no error'\nexcept TypeError as e:\n    name = type(e).__name__\nreturn [f'area {Square(2).area()}', name]",
)
_idiom(
    "getattr and hasattr with literal names",
    [1, 2, True, False],
    "class A:\n    x = 1\nreturn [getattr(A(), 'x'), getattr(A(), 'y', 2), hasattr(A(), 'x'), hasattr(A(), 'y')]",
)
_idiom(
    "a host call's result reads as attributes",
    ["high", "high", {"level": "high", "bounds": {"min": "low"}}],
    "s = await thinking.set(level='high', bounds={'min': 'low'})\nassert s.bounds.min == 'low'\nreturn [s.level, s['level'], s]",
)
_idiom("a host call with one dict", {"level": "high"}, "return await thinking.set({'level': 'high'})")
_idiom(
    "agents take snake case",
    {"thinkingBounds": {"min": "low"}, "task": "x"},
    "return await agents.run(task='x', thinking_bounds={'min': 'low'})",
)
_idiom(
    "deeper namespaces and tools.call",
    [{"a": 1}, {"ref": "t.echo", "args": {"i": 1}}],
    "a = await mcp.server.tool(a=1)\nb = await tools.call(ref='t.echo', args={'i': 1})\nreturn [a, b]",
)
_idiom(
    "a class body reading program variables",
    [3, 4],
    "base = 3\nclass A:\n    x = base\n    y = [base + i for i in range(1, 2)]\nreturn [A.x, A.y[0]]"
    if False
    else "base = 3\nclass A:\n    x = base\n    y = x + 1\nreturn [A.x, A.y]",
)
_idiom(
    "recursion and closures",
    [120, [0, 1, 2]],
    "def fact(n):\n    return 1 if n <= 1 else n * fact(n - 1)\nfs = [lambda i=i: i for i in range(3)]\nreturn [fact(5), [f() for f in fs]]",
)
_idiom(
    "while, break, continue, for-else",
    [[1, 3], "none"],
    "out = []\ni = 0\nwhile True:\n    i += 1\n    if i > 4:\n        break\n    if i % 2 == 0:\n        continue\n    out.append(i)\nfor x in out:\n    if x == 9:\n        break\nelse:\n    found = 'none'\nreturn [out, found]",
)
_idiom(
    "slices, chained comparison, ternary, bit operations",
    [[3, 2, 1], True, "yes", 6, [0, 2]],
    "l = [1, 2, 3]\nreturn [l[::-1], 1 < 2 < 3, 'yes' if l else 'no', 2 | 4, list(range(4))[::2]]",
)
_idiom(
    "big integers, bytes and sets",
    [2**200, "616263", [1, 2], True],
    "return [2 ** 200, b'abc'.hex(), sorted({2, 1} | {1}), {1} <= {1, 2}]",
)
_idiom(
    "string methods",
    [["a", "b"], "A-B", "  x", True, "b"],
    "return ['a,b'.split(','), '-'.join(['a', 'b']).upper(), 'x'.rjust(3), 'abc'.startswith('ab'), 'abc'.removeprefix('a')[0]]",
)
_idiom(
    "assert",
    "AssertionError: two",
    "try:\n    assert 1 == 2, 'two'\nexcept AssertionError as e:\n    return f'{type(e).__name__}: {e}'",
)
_idiom(
    "a deep await chain",
    "ok",
    "async def leaf():\n    raise ValueError('boom')\nasync def chain(n):\n    return await (leaf() if n == 0 else chain(n - 1))\ntry:\n    await chain(4000)\nexcept (ValueError, RecursionError) as e:\n    return 'ok'",
)
_idiom(
    "an event loop by hand",
    4,
    "async def main():\n    return 4\nloop = asyncio.get_event_loop()\nreturn loop.run_until_complete(main())",
)
_idiom(
    "a variable named type, format, id or list",
    [1, "csv", 3],
    "def f(type, format='csv', id=3):\n    return [type, format, id]\nreturn f(1)",
)
_idiom(
    "user methods named format",
    "1!",
    "class F:\n    def format(self, x):\n        return f'{x}!'\nreturn F().format(1)",
)
_idiom(
    "a method called through super on a dict",
    [1, "logged"],
    "class L(dict):\n    def __setitem__(self, k, v):\n        super().__setitem__(k, v)\n        self.note = 'logged'\nl = L()\nl['a'] = 1\nreturn [l['a'], l.note]",
)

_idiom(
    "a preset or builtin name that the program rebinds from its old value",
    [[1, 2, 3], 6, "set", 4],
    """
input = input["numbers"]
sum = sum(input)
for id in [4]:
    pass
try:
    1 / 0
except ZeroDivisionError as type:
    pass
set = set([1]) and "set"
if False:
    import asyncio
await asyncio.sleep(0)
return [input, sum, set, id]
""",
)
_idiom("a byte order mark", 1, "\ufeffreturn 1")
_idiom("a rebound builtin seen by functions", [9, 9], "max = 9\ndef f():\n    return max\nreturn [max, f()]")
