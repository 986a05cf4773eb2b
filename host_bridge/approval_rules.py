"""The approval rules that a person chose to keep: one small file in the user's folder; it judges no call.

Invariant: a file that cannot be read in full gives no rule at all. Answers are stored as narrowly as they were asked:
one exact ref at one risk.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from host_bridge.approvals import Rule, rule_problem
from host_bridge.descriptor import RISKS, Risk
from host_bridge.errors import RuleFileError

FILE_NAME: Final = "fabric-approvals.json"
FILE_LIMIT_BYTES: Final = 4 * 1024 * 1024


class StoredRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One answer that was kept."""

    ref: str
    action: str
    risk: str
    added_at: str = ""
    """ISO 8601, UTC."""


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    rules: list[StoredRule]


_decoder: Final = msgspec.json.Decoder(_File)


def default_rules_path() -> Path:
    """Where the user's stored rules are: beside the global `fabric.json`."""
    folder = os.environ.get("PI_CODING_AGENT_DIR") or "~/.pi/agent"
    return Path(folder).expanduser() / FILE_NAME


class RuleStore:
    """Stored approval rules; each change reads and replaces the file under a lock, so that two hosts lose nothing."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path if path is not None else default_rules_path()

    def stored(self) -> list[StoredRule]:
        """Every stored rule, oldest first; no file means none.

        Raises: RuleFileError: unreadable, malformed or of a later version.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RuleFileError(str(self.path), error.strerror or str(error)) from None
        if len(data) > FILE_LIMIT_BYTES:
            raise RuleFileError(str(self.path), f"{len(data)} bytes is no rule file of ours")
        try:
            file = _decoder.decode(data)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise RuleFileError(str(self.path), f"malformed: {error}") from None
        if file.version != 1:
            raise RuleFileError(str(self.path), f"version {file.version}; this program reads version 1")
        for rule in file.rules:
            problem = rule_problem(rule.ref, rule.action)
            if problem or rule.risk not in RISKS:
                raise RuleFileError(str(self.path), problem or f"risk {rule.risk!r} is none of {', '.join(RISKS)}")
        return file.rules

    def rules(self) -> tuple[Rule, ...]:
        """The same as statements for `approvals.verdict`.

        Raises: RuleFileError: as `stored`.
        """
        return tuple(Rule(rule.ref, rule.action, "stored", rule.risk) for rule in self.stored())  # type: ignore[arg-type]

    def allow(self, ref: str, risk: Risk) -> StoredRule:
        """Keep the answer that this ref at this risk is allowed; replaces an earlier answer about the same.

        Raises: RuleFileError: cannot be read or written; the file is as it was.
        """
        added = StoredRule(ref=ref, action="allow", risk=risk, added_at=datetime.now(UTC).isoformat(timespec="seconds"))
        with self._locked():
            kept = [rule for rule in self.stored() if (rule.ref, rule.risk) != (ref, risk)]
            self._write([*kept, added])
        return added

    def revoke(self, ref: str) -> list[StoredRule]:
        """Forget every stored rule of exactly this ref; answers which they were.

        Raises: RuleFileError: cannot be read or written; the file is as it was.
        """
        with self._locked():
            rules = self.stored()
            gone = [rule for rule in rules if rule.ref == ref]
            if gone:
                self._write([rule for rule in rules if rule.ref != ref])
        return gone

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RuleFileError(str(self.path), error.strerror or str(error)) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, rules: list[StoredRule]) -> None:
        data = msgspec.json.format(msgspec.json.encode(_File(version=1, rules=rules)), indent=2) + b"\n"
        try:
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{FILE_NAME}.")
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
                os.replace(name, self.path)  # noqa: PTH105  the temporary name is a string already
            except BaseException:
                os.unlink(name)  # noqa: PTH108
                raise
        except OSError as error:
            raise RuleFileError(str(self.path), error.strerror or str(error)) from None
