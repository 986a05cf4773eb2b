"""Which protections a guest gets, as plain data; it applies none and asks no kernel.

Each protection is a named value with the kernel feature it needs and a state: `strict` (missing means refusing to run),
`degradable` (missing means running without it, and saying so) or `disabled` (only for tests that remove a layer).
A weaker mode for trusted programs, chosen by name, makes the kernel's own protections degradable.
The plan travels to the zygote by value; `guest_api.inside` applies it.
Attacked by `tests/escapes` with one protection removed at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal, TypeAlias

import msgspec


class State(StrEnum):
    """What happens when a protection is missing here."""

    STRICT = "strict"
    """Refuse to run and name it."""
    DEGRADABLE = "degradable"
    """Run without it; the run record and `doctor` say so."""
    DISABLED = "disabled"
    """Not asked for."""


ProtectionName: TypeAlias = Literal[
    "process_boundary",
    "seccomp",
    "landlock",
    "namespaces",
    "rlimits",
    "no_new_privs",
    "closed_descriptors",
    "empty_environment",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """One layer: what it needs, what it keeps away, and how to get it."""

    name: ProtectionName
    default: State
    kernel_feature: str
    """What must exist for it, with the version that introduced it."""
    keeps_away: str
    how_to_get_it: str


PROTECTIONS: Final[tuple[Protection, ...]] = (
    Protection(
        name="process_boundary",
        default=State.STRICT,
        kernel_feature="fork, exec and pidfd (Linux 5.3)",
        keeps_away="the host's memory and objects; the guest can be killed at any moment",
        how_to_get_it="run on Linux 5.3 or later where this user may start processes",
    ),
    Protection(
        name="seccomp",
        default=State.STRICT,
        kernel_feature="seccomp filters with KILL_PROCESS (Linux 4.14) on x86-64 or aarch64",
        keeps_away="every system call but the few that computing and the bridge need",
        how_to_get_it="a kernel with CONFIG_SECCOMP_FILTER, and a container runtime that lets seccomp(2) through",
    ),
    Protection(
        name="no_new_privs",
        default=State.STRICT,
        kernel_feature="PR_SET_NO_NEW_PRIVS (Linux 3.5), capabilities dropped, root's identity given up",
        keeps_away="privileges gained by executing anything, and those the host had",
        how_to_get_it="run on Linux 3.5 or later",
    ),
    Protection(
        name="rlimits",
        default=State.STRICT,
        kernel_feature="setrlimit: AS, CPU, NPROC, NOFILE, CORE, FSIZE, MSGQUEUE, MEMLOCK",
        keeps_away="unbounded memory and processor time, files written, core dumps",
        how_to_get_it="any Linux",
    ),
    Protection(
        name="closed_descriptors",
        default=State.STRICT,
        kernel_feature="close_range (Linux 5.9)",
        keeps_away="every descriptor but the bridge",
        how_to_get_it="run on Linux 5.9 or later",
    ),
    Protection(
        name="empty_environment",
        default=State.STRICT,
        kernel_feature="execve with an empty environment",
        keeps_away="keys and paths that stand in the host's environment",
        how_to_get_it="any Linux",
    ),
    Protection(
        name="landlock",
        default=State.DEGRADABLE,
        kernel_feature="Landlock ABI 1 (Linux 5.13); later ABIs add network and scopes",
        keeps_away="the file system a second time, should a file call ever pass seccomp",
        how_to_get_it="a kernel with CONFIG_SECURITY_LANDLOCK and `landlock` in the `lsm=` boot parameter",
    ),
    Protection(
        name="namespaces",
        default=State.DEGRADABLE,
        kernel_feature="network, mount, IPC, UTS and pid namespaces; a user namespace when not root (Linux 3.8)",
        keeps_away="the network, other processes and System V objects a second time",
        how_to_get_it="kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0, "
        "and a container runtime that lets unshare(2) through",
    ),
)
"""In the order in which `doctor` prints them."""

BY_NAME: Final[Mapping[str, Protection]] = {protection.name: protection for protection in PROTECTIONS}

ISOLATION_SETTING: Final = "executor.isolation"
"""The setting that chooses between the two modes."""
STRICT_MODE: Final = "strict"
TRUSTED_MODE: Final = "trusted-process-only"
"""The weaker mode, for programs that you trust: a process and the language layer; of the kernel, what exists."""
MODES: Final[tuple[str, ...]] = (STRICT_MODE, TRUSTED_MODE)
NEEDED_IN_EVERY_MODE: Final[frozenset[str]] = frozenset({"process_boundary", "closed_descriptors", "empty_environment"})
"""What the weaker mode keeps strict: our own code provides these on any Linux."""


@dataclass(frozen=True, slots=True)
class ConfinementPlan:
    """The state of every protection; frozen, compared by value."""

    states: Mapping[str, State]
    mode: str = STRICT_MODE

    @classmethod
    def default(cls) -> "ConfinementPlan":
        """Strict for what a guest is never run without, degradable for Landlock and namespaces."""
        states: dict[str, State] = {protection.name: protection.default for protection in PROTECTIONS}
        return cls(states)

    @classmethod
    def trusted_process_only(cls) -> "ConfinementPlan":
        """The weaker mode: what the kernel must provide is taken where it exists and skipped, visibly, where not."""
        states: dict[str, State] = {
            protection.name: State.STRICT if protection.name in NEEDED_IN_EVERY_MODE else State.DEGRADABLE
            for protection in PROTECTIONS
        }
        return cls(states, TRUSTED_MODE)

    @classmethod
    def for_mode(cls, mode: str) -> "ConfinementPlan":
        """The plan that `executor.isolation` names.

        Raises: ValueError: no such mode; the message lists those that exist.
        """
        if mode == STRICT_MODE:
            return cls.default()
        if mode == TRUSTED_MODE:
            return cls.trusted_process_only()
        raise ValueError(f"{ISOLATION_SETTING}: {mode!r} is none of {', '.join(MODES)}")

    def without(self, name: str) -> "ConfinementPlan":
        """This plan with one protection disabled: how the attack tests prove that they discriminate.

        Raises: ValueError: no such protection, or the process boundary, which nothing here can do without.
        """
        return self.with_state(name, State.DISABLED)

    def with_state(self, name: str, state: State) -> "ConfinementPlan":
        """This plan with one protection in another state.

        Raises: ValueError: as `without`.
        """
        if name not in BY_NAME:
            raise ValueError(f"no protection {name!r}; there are {', '.join(BY_NAME)}")
        if name == "process_boundary" and state is not State.STRICT:
            raise ValueError("a guest is always a process of its own: process_boundary stays strict")
        return replace(self, states={**self.states, name: state})

    def state(self, name: ProtectionName) -> State:
        """The state of one protection."""
        return self.states[name]

    def to_json(self) -> bytes:
        """The plan as the zygote reads it: one object, protection name to state."""
        return msgspec.json.encode({name: str(state) for name, state in self.states.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestLimits:
    """What the kernel holds one guest to."""

    memory_bytes: int = 256 * 1024 * 1024
    """Address space beyond what the interpreter itself maps (`executor.memoryLimitBytes`)."""
    cpu_seconds: int = 60
    """Processor time, whole seconds (`executor.cpuSeconds`)."""
