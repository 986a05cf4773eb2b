"""May this call run: a pure verdict over risk modes, rules, grants and what this run was told; it asks nobody.

Invariant: a deny from anywhere wins over every allow; among the rest the narrower statement wins, and what a person
answered wins over what a file says of the same breadth. Attacked by `tests/host_bridge/test_approvals.py`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from host_bridge.descriptor import RISKS, Risk

Mode: TypeAlias = Literal["allow", "ask", "deny", "auto"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
Origin: TypeAlias = Literal["configuration", "stored"]

DEFAULT_MODES: Final[Mapping[Risk, Mode]] = {
    "read": "allow", "write": "ask", "execute": "ask", "network": "ask", "agent": "ask",
}  # fmt: skip
_STRICTNESS: Final[Mapping[Mode, int]] = {"allow": 0, "auto": 1, "ask": 2, "deny": 3}


@dataclass(frozen=True, slots=True)
class Rule:
    """A statement about an exact ref (`pi.bash`), everything under a prefix (`mcp.git.*`), or everything (`*`)."""

    ref: str
    action: Mode
    origin: Origin = "configuration"
    risk: Risk | None = None
    """Stored rules hold for the risk they were answered for: an action that grew more dangerous is asked about anew."""

    def matches(self, ref: str, risk: Risk) -> bool:
        """Whether it speaks of this call."""
        if self.risk is not None and self.risk != risk:
            return False
        if self.ref.endswith("*"):
            return ref.startswith(self.ref[:-1])
        return ref == self.ref

    @property
    def breadth(self) -> int:
        """Smaller is narrower: exact refs first, then longer prefixes."""
        return -(1 << 20) if not self.ref.endswith("*") else -len(self.ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """Everything that is written down before a run: modes and rules of the configuration, and the run's own flags."""

    modes: Mapping[Risk, Mode] = field(default_factory=lambda: dict(DEFAULT_MODES))
    rules: tuple[Rule, ...] = ()
    run_allow: frozenset[Risk] = frozenset()
    """`--allow RISK`: for this run, what the mode would ask about is allowed; a deny stays a deny."""
    run_deny: frozenset[Risk] = frozenset()
    """`--deny RISK`: for this run, denied."""


Basis: TypeAlias = Literal["mode", "rule", "stored", "session", "run"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to happen with a call, and the statement that says so."""

    mode: Mode
    basis: Basis
    because: str
    """`approvals.write = ask`, `rule mcp.git.* = deny`, `--deny write`."""


def rule_problem(ref: object, action: object) -> str | None:
    """Why this cannot be a rule; None: it can. For configuration loaders."""
    if not isinstance(ref, str) or not ref:
        return "ref must be an action's ref or a prefix as `mcp.git.*`"
    if "*" in ref[:-1] or (ref.endswith("*") and ref != "*" and not ref.endswith(".*")):
        return f"ref {ref!r}: `*` may only stand alone or as the last part, as in `mcp.git.*`"
    if action not in MODES:
        return f"action {action!r} is none of {', '.join(MODES)}"
    return None


def verdict(
    policy: ApprovalPolicy,
    ref: str,
    risk: Risk,
    *,
    granted: Collection[tuple[str, Risk]] = (),
    stored: Sequence[Rule] = (),
) -> Verdict:
    """What is to happen with a call of `ref`: deny if anything denies it, else the narrowest statement.

    `granted` are the session's grants by exact ref and risk. Narrowest first: session grant, rules (exact, then longer
    prefixes; stored before configured), the run's `--allow`, the mode of the risk class.
    Seed: thinking:control:approvals-write
    """
    matching = [rule for rule in (*stored, *policy.rules) if rule.matches(ref, risk)]
    mode = policy.modes.get(risk, "ask")
    if risk in policy.run_deny:
        return Verdict("deny", "run", f"--deny {risk}")
    for rule in matching:
        if rule.action == "deny":
            return _of_rule(rule)
    if mode == "deny":
        return Verdict("deny", "mode", f"approvals.{risk} = deny")
    if (ref, risk) in granted:
        return Verdict("allow", "session", "allowed for this session")
    if matching:
        narrowest = min(matching, key=lambda rule: (rule.breadth, rule.origin != "stored", -_STRICTNESS[rule.action]))
        return _of_rule(narrowest)
    if risk in policy.run_allow:
        return Verdict("allow", "run", f"--allow {risk}")
    return Verdict(mode, "mode", f"approvals.{risk} = {mode}")


def denied_message(ref: str, risk: Risk, decided: Verdict) -> str:
    """Why the call is denied, and the statement to change."""
    return f"{ref} (risk {risk}) is denied: {decided.because}"


def unanswered_message(ref: str, risk: Risk, decided: Verdict) -> str:
    """Why the call is denied where nobody can be asked, and exactly what would allow it.

    The flag is named only where it would help: a rule that says `ask` is narrower than `--allow`.
    """
    rule = f'{{"ref": "{ref}", "action": "allow"}} in approvals.rules of fabric.json'
    ways = f"--allow {risk}, or the rule {rule}" if decided.basis == "mode" else f"the rule {rule}"
    return (
        f"{ref} (risk {risk}) needs approval ({decided.because}) and nobody can be asked here; "
        f"what would allow it: {ways}"
    )


def parse_risks(words: Sequence[str]) -> frozenset[Risk]:
    """The risk classes behind `--allow write --allow network`, or `write,network`.

    Raises: ValueError: an unknown class, with the closest one.
    """
    found: set[Risk] = set()
    for word in (part.strip() for text in words for part in text.split(",")):
        for risk in RISKS:
            if word == risk:
                found.add(risk)
                break
        else:
            from host_bridge.argument_errors import closest

            near = closest(word, RISKS)
            hint = f"; did you mean {near!r}?" if near else ""
            raise ValueError(f"unknown risk {word!r}: one of {', '.join(RISKS)}{hint}")
    return frozenset(found)


def _of_rule(rule: Rule) -> Verdict:
    if rule.origin == "stored":
        return Verdict(rule.action, "stored", f"stored rule {rule.ref} = {rule.action}")
    return Verdict(rule.action, "rule", f"rule {rule.ref} = {rule.action}")
