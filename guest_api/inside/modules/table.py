"""The table of importable modules, built once in the zygote; it knows what is exported and what would do a
refused module's job.
"""

import abc
import base64
import bisect
import calendar
import cmath
import collections
import collections.abc
import csv
import datetime as dt
import decimal
import difflib
import fractions
import hashlib
import heapq
import hmac
import html
import io
import itertools
import json
import math
import numbers
import random
import re
import statistics
import string
import textwrap
import time
import unicodedata
import uuid
import zlib
from types import MappingProxyType
from typing import Any, Final

from guest_api.inside.modules import aio, classes, functions
from guest_api.inside.modules.namespace import FrozenNamespace


def _chosen(module: Any, wanted: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in wanted.split() if hasattr(module, name)}


_ABC: Final = (
    "AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable Collection Container Coroutine Generator "
    "Hashable ItemsView "
    "Iterable Iterator KeysView Mapping MappingView MutableMapping MutableSequence MutableSet Reversible "
    "Sequence Set Sized "
    "ValuesView"
)
_abc: Final = FrozenNamespace("collections.abc", _chosen(collections.abc, _ABC))


_rng: Final = random.Random()  # noqa: S311

_RANDOM: Final = (
    "betavariate choice choices expovariate gammavariate gauss getrandbits lognormvariate normalvariate "
    "paretovariate randbytes "
    "randint random randrange sample seed shuffle triangular uniform vonmisesvariate weibullvariate getstate setstate"
)

MODULES: Final = MappingProxyType(
    {
        title: FrozenNamespace(title, members)
        for title, members in {
            "__future__": {},
            "asyncio": {**aio.MEMBERS},
            "base64": _chosen(
                base64,
                "a85decode a85encode b16decode b16encode b32decode b32encode b64decode b64encode b85decode b85encode "
                "decodebytes encodebytes standard_b64decode standard_b64encode urlsafe_b64decode urlsafe_b64encode",
            ),
            "bisect": _chosen(bisect, "bisect bisect_left bisect_right insort insort_left insort_right"),
            "calendar": _chosen(
                calendar,
                "FRIDAY MONDAY SATURDAY SUNDAY THURSDAY TUESDAY WEDNESDAY day_abbr day_name isleap leapdays "
                "month_abbr "
                "month_name monthrange timegm weekday monthcalendar",
            ),
            "cmath": _chosen(cmath, " ".join(name for name in dir(cmath) if not name.startswith("_"))),
            "collections": {
                **_chosen(collections, "ChainMap Counter OrderedDict UserDict UserList defaultdict deque"),
                "abc": _abc,
                "namedtuple": classes.namedtuple,
            },
            "contextlib": functions.CONTEXTLIB,
            "copy": functions.COPY,
            "csv": _chosen(
                csv,
                "DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC reader writer",
            ),
            "dataclasses": classes.DATACLASSES,
            "datetime": _chosen(dt, "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo"),
            "decimal": _chosen(
                decimal,
                "Clamped Context ConversionSyntax Decimal DecimalException DivisionByZero DivisionImpossible "
                "FloatOperation "
                "Inexact InvalidOperation Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN "
                "ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow getcontext localcontext "
                "setcontext",
            ),
            "difflib": _chosen(
                difflib, "Differ SequenceMatcher context_diff get_close_matches ndiff restore unified_diff"
            ),
            "enum": classes.ENUM,
            "fractions": _chosen(fractions, "Fraction"),
            "functools": functions.FUNCTOOLS,
            "hashlib": _chosen(
                hashlib,
                "blake2b blake2s md5 sha1 sha224 sha256 sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 "
                "shake_128 shake_256",
            ),
            "heapq": _chosen(heapq, "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest"),
            "hmac": _chosen(hmac, "compare_digest digest"),
            "html": _chosen(html, "escape unescape"),
            "io": _chosen(io, "BytesIO StringIO"),
            "itertools": _chosen(itertools, " ".join(name for name in dir(itertools) if not name.startswith("_"))),
            "json": _chosen(json, "JSONDecodeError JSONDecoder JSONEncoder dumps loads"),
            "math": _chosen(math, " ".join(name for name in dir(math) if not name.startswith("_"))),
            "numbers": _chosen(numbers, "Complex Integral Number Rational Real"),
            "operator": functions.OPERATOR,
            "random": {"Random": random.Random, **_chosen(_rng, _RANDOM)},
            "re": _chosen(
                re,
                "A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern RegexFlag S U UNICODE VERBOSE X "
                "compile error "
                "escape findall finditer fullmatch match purge search split sub subn",
            ),
            "statistics": _chosen(
                statistics,
                "NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean kde "
                "linear_regression "
                "mean median median_grouped median_high median_low mode multimode pstdev pvariance quantiles "
                "stdev variance",
            ),
            "string": _chosen(
                string,
                "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits "
                "printable "
                "punctuation whitespace",
            ),
            "textwrap": _chosen(textwrap, "TextWrapper dedent fill indent shorten wrap"),
            "time": {
                **_chosen(
                    time,
                    "altzone asctime ctime daylight gmtime localtime mktime monotonic monotonic_ns perf_counter "
                    "perf_counter_ns process_time process_time_ns strftime strptime struct_time time time_ns "
                    "timezone tzname",
                ),
                "sleep": aio.block,
            },
            "typing": classes.TYPING,
            "typing_extensions": classes.TYPING,
            "unicodedata": _chosen(
                unicodedata,
                "bidirectional category combining decimal decomposition digit east_asian_width lookup mirrored "
                "name normalize "
                "numeric unidata_version is_normalized",
            ),
            "uuid": _chosen(uuid, "NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 UUID uuid3 uuid4 uuid5"),
            "zlib": _chosen(zlib, "adler32 crc32 compress decompress error"),
            "collections.abc": _chosen(collections.abc, _ABC),
            "abc": _chosen(abc, "ABC abstractmethod"),
        }.items()
    }
)

FROM_C: Final = frozenset({"time", "_strptime"})
"""What C code of the standard library imports through the running frame's builtins (`strftime`, `strptime`)."""

INSTEAD: Final = MappingProxyType(
    {
        "os": "the guest has no files, environment or processes: call a host action such as pi.bash, pi.read or pi.ls",
        "sys": "the guest has no interpreter settings; `return` ends the program and `input` is its input",
        "subprocess": "call the host action pi.bash",
        "pathlib": "the guest has no files: call pi.read, pi.write or pi.ls",
        "shutil": "the guest has no files: call pi.bash",
        "glob": "the guest has no files: call pi.find",
        "tempfile": "the guest has no files: keep the data in a variable or an io.StringIO",
        "socket": "the guest has no network: call a host action (await tools.search(query=...))",
        "ssl": "the guest has no network: call a host action (await tools.search(query=...))",
        "http": "the guest has no network: call a host action (await tools.search(query=...))",
        "urllib": "the guest has no network: call a host action (await tools.search(query=...))",
        "requests": "the guest has no network: call a host action (await tools.search(query=...))",
        "httpx": "the guest has no network: call a host action (await tools.search(query=...))",
        "aiohttp": "the guest has no network: call a host action (await tools.search(query=...))",
        "threading": "use asyncio.gather: host calls overlap",
        "multiprocessing": "use agents.run for work in another process",
        "concurrent": "use asyncio.gather: host calls overlap",
        "ctypes": "there is no native code here",
        "pickle": "use json",
        "logging": "use print",
        "inspect": "use type(x).__name__",
        "traceback": "the run reports the line of an uncaught error",
        "trio": "use asyncio.gather, asyncio.TaskGroup and asyncio.timeout",
        "anyio": "use asyncio.gather, asyncio.TaskGroup and asyncio.timeout",
        "types": "use dataclasses, or a dict",
        "numpy": "use statistics, math, or lists",
        "pandas": "use csv, dicts and lists",
        "sqlite3": "keep the data in dicts, or call a host action",
    }
)


def import_module(
    name: str,
    globals: object = None,  # noqa: A002  the parameters of `__import__`
    locals: object = None,  # noqa: A002
    fromlist: Any = (),
    level: int = 0,
) -> Any:
    """The `__import__` of a program.

    Raises: ImportError: not in the table; names what is, and what would do the job.
    """
    del globals, locals, level
    module = MODULES.get(name)
    if module is None:
        if name in FROM_C:
            return MODULES["time"]
        raise ImportError(_refusal(name), name=name)
    if fromlist:
        for wanted in fromlist:
            if wanted != "__doc__":
                _check_export(name, module, wanted)
        return module
    root = name.partition(".")[0]
    return MODULES[root]


def _check_export(name: str, module: FrozenNamespace, wanted: str) -> None:
    if wanted not in module.__dict__ or wanted.startswith("_"):
        offered = ", ".join(sorted(key for key in module.__dict__ if not key.startswith("_")))
        raise ImportError(f"cannot import {wanted!r} from {name!r}; {name} has: {offered}", name=name)


def _refusal(name: str) -> str:
    root = name.partition(".")[0]
    instead = INSTEAD.get(root)
    hint = f" ({instead})" if instead else ""
    offered = ", ".join(sorted(key for key in MODULES if not key.startswith("_") and "." not in key))
    return f"module {name!r} is not importable here{hint}. Importable: {offered}"
