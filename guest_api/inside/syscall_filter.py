"""The seccomp filter as bytes: which system calls a guest may make, with which arguments. It loads nothing.

Invariant: a number or an argument that is not named here ends the process, except for the calls that CPython makes by
itself (a late SyntaxError opens the file name to quote it), which are answered with an error.
Attacked by `tests/escapes` (kernel programs) and emulated instruction by instruction in `tests/host_bridge`.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from guest_api.inside import syscalls_aarch64, syscalls_x86_64

BRIDGE_FD: Final = 3
EACCES: Final = 13
EBADF: Final = 9

KILL_PROCESS: Final = 0x8000_0000
ERRNO: Final = 0x0005_0000
ALLOW: Final = 0x7FFF_0000

ALLOWED: Final[tuple[str, ...]] = (
    "munmap",
    "brk",
    "madvise",
    "mremap",
    "clock_gettime",
    "getrandom",
    "exit_group",
    "exit",
    "rt_sigreturn",
    "restart_syscall",
)
"""With any argument: memory of its own, the clock, randomness, and leaving."""
ON_THE_BRIDGE: Final[tuple[str, ...]] = ("sendto", "recvfrom", "read", "write")
"""On descriptor 3 only; any other is answered EBADF, as a closed descriptor would be."""
WITHOUT_PROT_EXEC: Final[tuple[str, ...]] = ("mmap", "mprotect")
"""Memory may never become code: arg 2 without PROT_EXEC."""
ANSWERED_EACCES: Final[tuple[str, ...]] = (
    "open",
    "openat",
    "stat",
    "fstat",
    "lstat",
    "newfstatat",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getcwd",
    "getdents64",
    "statfs",
    "lseek",
    "ioctl",
    "fcntl",
)
"""What CPython tries by itself: an error is an answer that it handles, a kill would hide the program's own error."""

PROT_EXEC: Final = 4
SAFE_MESSAGE_FLAGS: Final = 0x4000 | 0x100 | 0x40
"""MSG_NOSIGNAL, MSG_WAITALL, MSG_DONTWAIT. MSG_OOB on a unix socket was a kernel hole (CVE-2025-38236)."""
FUTEX_FLAGS: Final = 128 | 256
FUTEX_COMMANDS: Final[tuple[int, ...]] = (0, 1, 9, 10)
"""WAIT and WAKE, plain and with a bitset; the priority-inheritance commands were a kernel hole (CVE-2014-3153)."""

_LOAD: Final = 0x20
_JUMP_EQUAL: Final = 0x15
_JUMP_AT_LEAST: Final = 0x35
_JUMP_ANY_BIT: Final = 0x45
_AND: Final = 0x54
_RETURN: Final = 0x06
_NUMBER_OFFSET: Final = 0
_ARCH_OFFSET: Final = 4
_NEXT: Final = "next"


@dataclass(frozen=True, slots=True)
class Architecture:
    """What the filter must know of a machine."""

    audit_arch: int
    first_foreign_number: int | None
    numbers: Mapping[str, int]


ARCHITECTURES: Final[Mapping[str, Architecture]] = {
    "x86_64": Architecture(syscalls_x86_64.AUDIT_ARCH, syscalls_x86_64.FIRST_FOREIGN_NUMBER, syscalls_x86_64.NUMBERS),
    "aarch64": Architecture(
        syscalls_aarch64.AUDIT_ARCH, syscalls_aarch64.FIRST_FOREIGN_NUMBER, syscalls_aarch64.NUMBERS
    ),
}
"""By `os.uname().machine`; a machine that is not here has no filter and is refused by name."""


def build_filter(architecture: Architecture) -> bytes:
    """The classic BPF program, 8 bytes an instruction."""
    code = _Assembler()
    code.load(_ARCH_OFFSET)
    code.jump(_JUMP_EQUAL, architecture.audit_arch, _NEXT, "kill")
    code.load(_NUMBER_OFFSET)
    if architecture.first_foreign_number is not None:
        code.jump(_JUMP_AT_LEAST, architecture.first_foreign_number, "kill", _NEXT)
    numbers = architecture.numbers
    for name in ON_THE_BRIDGE:
        code.jump(_JUMP_EQUAL, numbers[name], name, _NEXT)
    for name in WITHOUT_PROT_EXEC:
        code.jump(_JUMP_EQUAL, numbers[name], "memory", _NEXT)
    code.jump(_JUMP_EQUAL, numbers["futex"], "futex", _NEXT)
    for name in ALLOWED:
        code.jump(_JUMP_EQUAL, numbers[name], "allow", _NEXT)
    for name in ANSWERED_EACCES:
        if name in numbers:
            code.jump(_JUMP_EQUAL, numbers[name], "eacces", _NEXT)
    code.give(KILL_PROCESS)

    code.label("memory")
    code.load(_argument(2))
    code.jump(_JUMP_ANY_BIT, PROT_EXEC, "kill", "allow")

    code.label("futex")
    code.load(_argument(1))
    code.mask(0xFFFF_FFFF & ~FUTEX_FLAGS)
    for command in FUTEX_COMMANDS:
        code.jump(_JUMP_EQUAL, command, "allow", _NEXT)
    code.give(KILL_PROCESS)

    code.label("sendto")
    code.label("recvfrom")
    code.load(_argument(0))
    code.jump(_JUMP_EQUAL, BRIDGE_FD, _NEXT, "ebadf")
    for half in (0, 4):  # no address: the bridge is connected, and only to the host
        code.load(_argument(4) + half)
        code.jump(_JUMP_EQUAL, 0, _NEXT, "kill")
    code.load(_argument(3))
    code.jump(_JUMP_ANY_BIT, 0xFFFF_FFFF & ~SAFE_MESSAGE_FLAGS, "kill", "allow")

    code.label("read")
    code.label("write")
    code.load(_argument(0))
    code.jump(_JUMP_EQUAL, BRIDGE_FD, "allow", "ebadf")

    for label, verdict in (
        ("allow", ALLOW),
        ("eacces", ERRNO | EACCES),
        ("ebadf", ERRNO | EBADF),
        ("kill", KILL_PROCESS),
    ):
        code.label(label)
        code.give(verdict)
    return code.assemble()


def _argument(index: int) -> int:
    """Offset of the low half of an argument in `struct seccomp_data` (both machines are little-endian)."""
    return 16 + 8 * index


class _Assembler:
    """Labels to relative jumps; a jump reaches at most 255 instructions, and only forward."""

    def __init__(self) -> None:
        self._instructions: list[tuple[int, int, str, str]] = []
        self._labels: dict[str, int] = {}

    def load(self, offset: int) -> None:
        self._instructions.append((_LOAD, offset, _NEXT, _NEXT))

    def mask(self, bits: int) -> None:
        self._instructions.append((_AND, bits, _NEXT, _NEXT))

    def jump(self, operation: int, operand: int, if_true: str, if_false: str) -> None:
        self._instructions.append((operation, operand, if_true, if_false))

    def give(self, verdict: int) -> None:
        self._instructions.append((_RETURN, verdict, _NEXT, _NEXT))

    def label(self, name: str) -> None:
        self._labels[name] = len(self._instructions)

    def assemble(self) -> bytes:
        return b"".join(
            struct.pack("<HBBI", operation, self._distance(at, if_true), self._distance(at, if_false), operand)
            for at, (operation, operand, if_true, if_false) in enumerate(self._instructions)
        )

    def _distance(self, at: int, target: str) -> int:
        return 0 if target == _NEXT else self._labels[target] - at - 1
