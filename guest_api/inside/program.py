"""One program's life in a confined guest: the frames that start it, its run, and the one frame that ends it.

Invariant: only this file and `scheduler.py` make frames, from values that passed `values.to_wire`; a program
reaches neither.
Attacked by `tests/escapes` and `tests/guest_api/test_program.py`.
"""

import json
import sys
import time
import warnings
from types import TracebackType
from typing import Any, Final

import msgspec

from guest_api import errors, proxies, values, wire
from guest_api.inside import guards, scheduler
from guest_api.inside.channel import Channel
from guest_api.inside.compile_policy import (
    ENTRY_NAME,
    PROGRAM_FILENAME,
    ProgramRefusedError,
    compile_program,
    quoted_line,
)

_REWARM_SECONDS: Final = 0.001
"""While it stays awake, a guest runs its sample this often: a tenth of the time, and its caches stay its own."""
_PATIENCE_SECONDS: Final = 0.002
"""How long others may have its processor before it sleeps instead: longer than a host's turn or a fork, shorter than
the turn of a process that computes."""
_MESSAGE_CHARACTERS: Final = 4000
_MAX_FRAMES: Final = 50
_OUT_OF_MEMORY: Final = "MemoryError: the program needs more memory than it may use"
_TOP_FRAME: Final = "<program>"
_LIVE_LOG_SECONDS: Final = 0.05
"""A print that follows the last write by more than this goes out at once, so that people see progress."""
MEMORY_RESERVE_BYTES: Final = 4 * 1024 * 1024
"""Given back when memory runs out, so that the failure can still be told: an arena of the interpreter takes a mebibyte,
the C heap grows by a quarter. Never touched, so it costs no page, and granted on top of a program's limit.
"""


def preimport() -> None:
    """Load everything a program may need, before the process loses the file system."""
    warnings.simplefilter("ignore")
    sys.set_int_max_str_digits(0)  # values cross exactly at any size; the limits on CPU and memory stand
    guards.preimport()


def warm_up(source: str | None = None) -> None:
    """Compile and run a sample program against a host that answers from memory, from its first frame to its last."""
    start = wire.Start(_WARM_UP_SOURCE if source is None else source, {"n": 3}, ["thinking"], 65536, 65536, 65536)
    channel = Channel(_Loopback(wire.encode(start)), 4096)
    for frame in channel.read():
        if isinstance(frame, wire.Start):
            _Run(channel, frame).execute()
    channel.flush()


def _rewarm() -> None:
    warm_up(_REWARM_SOURCE)


def serve(sock: Any, *, language_layer: bool = True) -> None:
    """Say that the guest is ready, run one program, say how it ended, and wait until the host has heard it.

    `sock` is a blocking stream socket without timeout. With `language_layer=False` the source runs as plain
    Python with the
    globals `sock` and `write_frame`: for attack tests, which ask what the kernel layer alone contains.
    """
    channel = Channel(sock)
    channel.queue(wire.encode(wire.Ready()))
    channel.flush()
    reserve = _memory_reserve()  # before the program comes: a system call that nobody waits for
    start = _wait_warm(channel)
    if not language_layer:
        _execute_raw(channel, sock, start)
        channel.flush()
        return
    if not reserve:
        raise MemoryError
    run = _Run(channel, start, reserve)
    del reserve  # the run alone holds it, and can give it back
    run.execute()
    channel.flush()
    channel.wait_let_go()


def _wait_warm(channel: Channel) -> wire.Start:
    """The program, once it is there. Until then the guest does what the host's hints say."""
    awake = False
    while True:
        frames = channel.read()
        for frame in frames:
            if isinstance(frame, wire.Start):
                return frame  # hints that came with it are too late to matter
        hint = frames[-1]
        if isinstance(hint, wire.Warm):
            if not awake:
                _rewarm()
            awake = hint.awake_ms > 0 and channel.wait_awake(
                hint.awake_ms / 1000, patience_seconds=_PATIENCE_SECONDS, work=_rewarm, interval_seconds=_REWARM_SECONDS
            )


def _memory_reserve() -> bytes:
    try:
        return bytes(MEMORY_RESERVE_BYTES)
    except MemoryError:
        return b""  # told when the program comes


class _Run:
    """One program: its scheduler, its output, its end."""

    def __init__(self, channel: Channel, start: wire.Start, reserve: bytes = b"") -> None:
        self._channel = channel
        self._start = start
        self._return_line: int | None = None
        """Of the `return` that gave the result."""
        self._scheduler = scheduler.Scheduler(channel, frame_limit_bytes=start.frame_limit_bytes)
        self._output = _Output(channel, start.output_limit_bytes, start.frame_limit_bytes)
        self._reserve = reserve

    def execute(self) -> None:
        """Run to the end and queue the closing frame."""
        start = self._start
        try:
            compiled = compile_program(start.source, tuple(start.namespaces))
        except ProgramRefusedError as error:
            self._close(wire.Failed("rejected", error.message, error.line, error.source_line))
            return
        scheduler.activate(self._scheduler)
        proxies.connect(self._scheduler.call)
        try:
            value = self._run_code(compiled.code)
        except BaseException as error:  # whatever the program raised ends it
            failed = self._failure(error)
            # Frames hold the program's data; letting go of them gives the memory back before the frame is written.
            error.__traceback__ = None
            del error
            self._close(failed)
        else:
            self._finish(value)

    def _run_code(self, code: Any) -> Any:
        space = guards.program_globals(self._start.namespaces, self._start.input, self._output.function())
        exec(code, space)
        entry = space.pop(ENTRY_NAME)
        coroutine = entry()
        if hasattr(coroutine, "__anext__"):
            raise RuntimeError("a program cannot be a generator")
        task = scheduler.Task(coroutine, "program")
        self._scheduler.main_task = task
        self._scheduler.run_until(task)
        returned = task.result()
        if returned is None:
            return None  # it ended without a `return` of its own
        value, self._return_line = returned
        return value

    def _finish(self, value: Any) -> None:
        start = self._start
        self._scheduler.withdraw_unsent()
        try:
            crossing = values.to_wire(value)
            frame = wire.encode(wire.Done(crossing))
        except values.ValueRefusedError as error:
            line = self._return_line
            quoted = quoted_line(self._start.source, line)
            self._close(wire.Failed("program", f"the result cannot cross: {error}", line=line, source_line=quoted))
            return
        except BaseException as error:  # a guest's own __repr__ or memory
            self._close(self._failure(error))
            return
        if len(frame) - wire.LENGTH_BYTES <= min(start.inline_result_bytes, start.frame_limit_bytes):
            if len(frame) > start.result_limit_bytes:
                self._close(_result_limit(len(frame), start.result_limit_bytes))
            else:
                self._channel.queue(frame)
            return
        self._send_in_parts(crossing)

    def _send_in_parts(self, crossing: object) -> None:
        limit = self._start.result_limit_bytes
        try:
            text = json.dumps(crossing, ensure_ascii=False, allow_nan=False, default=_integer_of).encode()
        except BaseException as error:
            self._close(self._failure(error))
            return
        if len(text) > limit:
            self._close(_result_limit(len(text), limit))
            return
        size = min(wire.PART_BYTES, self._start.frame_limit_bytes - 64)
        count = 0
        for position in range(0, len(text), size):
            self._channel.queue(wire.encode(wire.Part(text[position : position + size])))
            count += 1
        self._channel.queue(wire.encode(wire.Done(None, count)))

    def _close(self, failed: wire.Failed) -> None:
        self._scheduler.withdraw_unsent()
        self._channel.queue(wire.encode(failed))

    def _failure(self, error: BaseException) -> wire.Failed:
        self._reserve = b""
        kind, limit, message = _kind_of(error)
        frames = _program_frames(error.__traceback__)
        if not frames and error.__context__ is not None:
            # Python turns a StopIteration of a coroutine into a RuntimeError of its own, which has no frame.
            frames = _program_frames(error.__context__.__traceback__)
        line = frames[-1][0] if frames else None
        return wire.Failed(kind, message, line, quoted_line(self._start.source, line), frames[-_MAX_FRAMES:], limit)


def _kind_of(error: BaseException) -> tuple[str, str | None, str]:
    if isinstance(error, MemoryError):
        return "limit", "memory", _OUT_OF_MEMORY
    text = _text_of(error)
    name = type(error).__name__
    if isinstance(error, errors.ActionDenied):
        return "denied", None, text or name
    if isinstance(error, errors.ActionLimit):
        limit = error.details.get("limit") if isinstance(error.details, dict) else None
        return "limit", limit if type(limit) is str else None, text or name
    if isinstance(error, NameError):
        text += guards.missing_name_hint(getattr(error, "name", None))
    return "program", None, f"{name}: {text}" if text else name


def _text_of(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException:  # a guest's own __str__ is the program's code
        return "its text could not be made"
    plain = str.__str__(text)[:_MESSAGE_CHARACTERS].replace(f"{ENTRY_NAME}.<locals>.", "")
    return plain.encode("utf-8", "backslashreplace").decode()


def _program_frames(traceback: TracebackType | None) -> list[tuple[int, str]]:
    frames: list[tuple[int, str]] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == PROGRAM_FILENAME:
            name = _TOP_FRAME if code.co_name == ENTRY_NAME else code.co_name
            frames.append((traceback.tb_lineno, name))
            if len(frames) > 2 * _MAX_FRAMES:
                del frames[_MAX_FRAMES // 2]
        traceback = traceback.tb_next
    return frames


def _result_limit(size: int, limit: int) -> wire.Failed:
    message = f"the result takes {size} bytes; the limit is {limit}"
    return wire.Failed("limit", message, limit="result")


def _integer_of(value: object) -> int:
    if isinstance(value, msgspec.msgpack.Ext):
        return int.from_bytes(value.data, "big", signed=True)
    raise TypeError(type(value).__name__)


class _Output:
    """What `print` sends: one log frame a print, up to a limit, then one marker and silence."""

    def __init__(self, channel: Channel, limit_bytes: int, frame_limit_bytes: int) -> None:
        self._channel = channel
        self._left = limit_bytes
        self._limit = limit_bytes
        self._frame_room = frame_limit_bytes - 1024
        self._marked = False
        self._last_write = 0.0

    def function(self) -> Any:
        """`print` for a program: a plain function, since a bound method would be copied together with its owner."""

        def print(*values: Any, **options: Any) -> None:  # noqa: A001
            self.print(*values, **options)

        return print

    def print(
        self, *values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
    ) -> None:
        """The builtin `print` of a program."""
        del flush
        for word, given in (("sep", sep), ("end", end)):
            if given is not None and not isinstance(given, str):
                raise TypeError(f"{word} must be None or a string, not {type(given).__name__}")
        # Plain text of it: a class of the program's that inherits from str has a join and an addition of its own.
        separator = " " if sep is None else str.__str__(sep)
        ending = "\n" if end is None else str.__str__(end)
        text = separator.join([str(value) for value in values]) + ending
        if file is not None:
            file.write(text)
            return
        self._log(text.removesuffix("\n"))

    def _log(self, text: str) -> None:
        if self._marked:
            return
        data = text.encode("utf-8", "backslashreplace")
        room = min(self._left - 1, self._frame_room)  # the newline counts too, or a flood of empty prints would be free
        cut = len(data) > room
        self._left -= len(data) + 1
        self._write(data[: max(room, 0)].decode("utf-8", "ignore") if cut or not text.isascii() else text)
        if cut:
            self._marked = True
            self._write(
                f"[output limit of {self._limit} bytes reached (setting executor.outputLimitBytes): "
                "the rest is dropped]"
            )

    def _write(self, text: str) -> None:
        self._channel.queue(wire.encode(wire.Log(text)))
        now = time.monotonic()
        if now - self._last_write > _LIVE_LOG_SECONDS:
            self._channel.flush()
            self._last_write = now


def _execute_raw(channel: Channel, sock: Any, start: wire.Start) -> None:
    def write_frame(sock: Any, value: Any) -> None:
        body = msgspec.msgpack.encode(value)
        sock.sendall(len(body).to_bytes(wire.LENGTH_BYTES, "little") + body)

    space: dict[str, Any] = {"__name__": "__main__", "sock": sock, "write_frame": write_frame}
    try:
        exec(compile(start.source, PROGRAM_FILENAME, "exec"), space)
        frame: wire.Done | wire.Failed = wire.Done(values.to_wire(space.get("result")))
    except BaseException as error:
        frames = _program_frames(error.__traceback__)
        line = frames[-1][0] if frames else None
        kind, limit, message = _kind_of(error)
        frame = wire.Failed(kind, message, line, quoted_line(start.source, line), frames, limit)
    channel.queue(wire.encode(frame))


class _Loopback:
    """A host in memory: it says `first`, then answers every call with its arguments; for warming up only."""

    def __init__(self, first: bytes) -> None:
        self._answers = bytearray(first)

    def sendall(self, data: bytes | bytearray) -> None:
        """Take frames and prepare their answers."""
        view = memoryview(data)
        while view:
            length = wire.body_length(view[: wire.LENGTH_BYTES], wire.GUEST_FRAME_LIMIT_BYTES)
            frame = wire.decode_guest_frame(view[wire.LENGTH_BYTES : wire.LENGTH_BYTES + length])
            view = view[wire.LENGTH_BYTES + length :]
            if isinstance(frame, wire.Call):
                self._answers += wire.encode(wire.Reply(frame.id, frame.args))

    def recv_into(self, buffer: bytearray, _nbytes: int = 0, _flags: int = 0) -> int:
        """Hand the answers out."""
        count = len(self._answers)
        buffer[:count] = self._answers
        self._answers.clear()
        return count


_REWARM_SOURCE: Final = "return input['n'] + 1"
"""What an idle guest runs: every page it touches is its own from then on, and 3 MB is all that it may have."""
_WARM_UP_SOURCE: Final = """\
import json, asyncio
from dataclasses import dataclass

@dataclass
class Point:
    x: int = 0
    def moved(self, by: int) -> "Point":
        return Point(self.x + by)

async def ask(level):
    status = await thinking.set(level=level)
    return status.level

def total(numbers):
    return sum(n * n for n in numbers if n)

try:
    first = await ask("high")
    both = await asyncio.gather(ask("low"), ask("high"))
    print(f"{first!r:>8}", "{} {}".format(*both))
except (ValueError, KeyError) as error:
    raise RuntimeError("no") from error
match {"point": Point(1).moved(2)}:
    case {"point": Point(x=x)}:
        return {"n": input["n"] + 1, "x": x, "text": json.dumps([total([1, 2]), first])}
"""
