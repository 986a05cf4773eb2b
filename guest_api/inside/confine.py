"""Confine this process, irreversibly: what each protection does to the kernel's view of it. It decides no policy.

Invariant: a step that does not take effect raises; nothing here is best effort. Which missing step is forgiven is
decided by the plan, in `zygote.py`. Attacked by `tests/escapes` (kernel programs), one layer removed at a time.
"""

import ctypes
import os
import resource
import signal
import struct
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
SECCOMP_MODE_FILTER: Final = 2
CAPABILITY_VERSION_3: Final = 0x2008_0522

CLONE_NEWNS: Final = 0x0002_0000
CLONE_NEWUTS: Final = 0x0400_0000
CLONE_NEWIPC: Final = 0x0800_0000
CLONE_NEWUSER: Final = 0x1000_0000
CLONE_NEWPID: Final = 0x2000_0000
CLONE_NEWNET: Final = 0x4000_0000

LANDLOCK_CREATE_RULESET: Final = 444
LANDLOCK_RESTRICT_SELF: Final = 446
LANDLOCK_CREATE_RULESET_VERSION: Final = 1
LANDLOCK_FILE_RIGHTS: Final[dict[int, int]] = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
"""By ABI: the rights that exist, all of them denied because no rule grants one."""
LANDLOCK_NET_RIGHTS: Final = 0b11
LANDLOCK_SCOPES: Final = 0b11

UNPRIVILEGED_ID: Final = 65534
"""`nobody`: what root becomes."""


class ConfinementError(Exception):
    """A protection did not take effect."""

    def __init__(self, protection: str, reason: str) -> None:
        super().__init__(f"{protection}: {reason}")
        self.protection = protection
        self.reason = reason


_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def is_linux() -> bool:
    """Whether the kernel's own protections can exist at all."""
    return sys.platform == "linux"


def _check(result: int, protection: str, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise ConfinementError(protection, f"{what}: {os.strerror(code)}")


def _prctl(protection: str, what: str, option: int, first: int = 0, second: int = 0) -> None:
    arguments = [ctypes.c_ulong(value) for value in (first, second, 0, 0)]
    _check(_libc.prctl(option, *arguments), protection, what)


_ZERO: Final = ctypes.c_ulong(0)
_DIE_WITH_PARENT: Final = (PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), _ZERO, _ZERO, _ZERO)
"""Made before any fork: what a guest allocates while it confines itself, it pays for with page faults."""


def die_with_parent() -> None:
    """SIGKILL when the parent's thread ends. A change of user resets it, so it comes after."""
    if is_linux() and _libc.prctl(*_DIE_WITH_PARENT) < 0:
        _check(-1, "process_boundary", "PR_SET_PDEATHSIG")


def adopt_orphans() -> None:
    """Descendants whose parent died become ours to reap."""
    if is_linux():
        _prctl("process_boundary", "PR_SET_CHILD_SUBREAPER", PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> None:
    """No core dump, no ptrace and no /proc/PID/mem for processes of the same user."""
    if is_linux():
        _prctl("process_boundary", "PR_SET_DUMPABLE", PR_SET_DUMPABLE, 0)


def enter_namespaces() -> None:
    """New network, mount, IPC and UTS namespaces for this process, a new pid namespace for its children.

    Root needs no user namespace; anyone else, or a root without the capability, makes one.
    """
    if not is_linux():
        raise ConfinementError("namespaces", "Linux only")
    flags = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID
    if os.geteuid() == 0 and _libc.unshare(flags) == 0:
        return
    _check(_libc.unshare(flags | CLONE_NEWUSER), "namespaces", "unshare")


def give_up_identity() -> None:
    """Root becomes nobody, with no groups; everyone loses every capability, effective and to come.

    Where no second id is mapped (root of a one-id container) the id stays and the capabilities go all the same.
    """
    if is_linux():
        for capability in range(64):  # refused without CAP_SETPCAP: then nothing can be gained anyway
            if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
                break
    if os.geteuid() == 0:
        try:
            os.setgroups([])
            os.setresgid(UNPRIVILEGED_ID, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
            os.setresuid(UNPRIVILEGED_ID, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
        except OSError as error:
            if not is_linux():
                raise ConfinementError("no_new_privs", f"cannot stop being root: {error.strerror}") from None
    if not is_linux():
        raise ConfinementError("no_new_privs", "Linux only")
    _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)  # fails only where nothing is ambient
    header = struct.pack("<Ii", CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, bytes(24)), "no_new_privs", "capset")


def forbid_new_privileges() -> None:
    """Nothing that this process or its children execute can gain a privilege."""
    if not is_linux():
        raise ConfinementError("no_new_privs", "Linux only")
    _prctl("no_new_privs", "PR_SET_NO_NEW_PRIVS", PR_SET_NO_NEW_PRIVS, 1)


def landlock_abi() -> int:
    """The kernel's Landlock ABI; 0 where there is none."""
    if not is_linux():
        return 0
    version = _libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_CREATE_RULESET_VERSION)
    return max(0, int(version))


def deny_all_files() -> None:
    """An empty Landlock ruleset: no file, no TCP port, no abstract socket, no signal to the outside."""
    abi = landlock_abi()
    if abi == 0:
        raise ConfinementError("landlock", "the kernel has no Landlock, or it is not among its active modules")
    rights = LANDLOCK_FILE_RIGHTS[min(abi, max(LANDLOCK_FILE_RIGHTS))]
    attributes = struct.pack("<Q", rights)
    if abi >= 4:
        attributes += struct.pack("<Q", LANDLOCK_NET_RIGHTS)
    if abi >= 6:
        attributes += struct.pack("<Q", LANDLOCK_SCOPES)
    ruleset = _libc.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    _check(ruleset, "landlock", "landlock_create_ruleset")
    try:
        _check(_libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock", "landlock_restrict_self")
    finally:
        os.close(ruleset)


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Never above what this process may use itself: a lower limit that it inherited is as safe and cannot be raised."""
    most = soft if hard is None else hard
    given = resource.getrlimit(kind)[1]
    if given != resource.RLIM_INFINITY and given < most:
        soft, most = min(soft, max(given - (most - soft), 0)), given
    try:
        resource.setrlimit(kind, (soft, most))
    except (OSError, ValueError) as error:
        raise ConfinementError("rlimits", f"setrlimit {kind} to {soft}: {error}") from None


def limit_side_effects() -> None:
    """No core dump, no file written, no message queue, no locked memory: for the zygote and all its guests."""
    for name in ("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_MSGQUEUE", "RLIMIT_MEMLOCK"):
        kind = getattr(resource, name, None)
        if kind is not None:
            _limit(kind, 0)


def limit_usage(*, address_space_bytes: int, cpu_seconds: int) -> None:
    """What one guest may use; SIGXCPU ends it, SIGKILL a second later. No process, no descriptor beyond the bridge."""
    _limit(resource.RLIMIT_AS, address_space_bytes)
    _limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_NOFILE, 4)


def _highest_descriptor() -> int:
    highest = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return highest if 0 < highest < 1 << 20 else 1 << 20


_HIGHEST_DESCRIPTOR: Final = _highest_descriptor()


def close_all_but(kept: int) -> None:
    """Move `kept` to descriptor 3 and close all others, the standard three too."""
    if kept != 3:
        os.dup2(kept, 3, inheritable=False)
    os.closerange(4, _HIGHEST_DESCRIPTOR)  # one close_range(2) where it exists
    os.closerange(0, 3)


class PreparedFilter:
    """The seccomp filter in memory as the kernel wants it, made before the fork so that a guest only has to load it."""

    __slots__ = ("_arguments", "_buffer", "_header")

    def __init__(self, program: bytes) -> None:
        self._buffer = ctypes.create_string_buffer(program, len(program))
        self._header = struct.pack("@HP", len(program) // 8, ctypes.addressof(self._buffer))
        self._arguments = (PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.c_char_p(self._header))

    def load(self) -> None:
        """The last step, since it forbids all the others."""
        if not is_linux():
            raise ConfinementError("seccomp", "Linux only")
        if _libc.prctl(*self._arguments) < 0:
            _check(-1, "seccomp", "PR_SET_SECCOMP")
