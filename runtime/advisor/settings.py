"""What a person can set about the advisor. It reads no file: the section `capture.advisory` is mapped here.

The limits are checked where a configuration is loaded (`checked_settings`), not inside the advisor.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from runtime.advisor.constants import DEFAULT_BRANCH_CAP, DEFAULT_THRESHOLD
from runtime.advisor.limits import (
    BUDGET_TOKENS_RANGE,
    DEFAULT_BUDGET_TOKENS,
    MAX_PER_SESSION_RANGE,
    MINIMUM_SURFACES_RANGE,
    THRESHOLD_RANGE,
)
from runtime.config_sections import AdvisorySection

Mode: TypeAlias = Literal["disabled", "hidden", "enabled"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisorySettings:
    """The section `capture.advisory`.

    Seed: combustion:config:mode
    """

    mode: Mode = "enabled"
    """`disabled`: no hint and no memory. `hidden`: the model reads the hint, people do not see it. `enabled`: both."""
    threshold: float = DEFAULT_THRESHOLD
    """theta: the base fire point."""
    max_per_session: int = DEFAULT_BRANCH_CAP
    """Hints that one branch permits."""
    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    """The longest text of a hint, in tokens of four UTF-16 units."""
    minimum_surfaces: int = 0
    """Tools that a source needs before a topic word at a script boundary may fire it; 0: no minimum, as specified."""


def checked_settings(settings: AdvisorySettings) -> AdvisorySettings:
    """`settings`, if every value lies within the limits on loading.

    Raises:
        ValueError: a value lies outside; the message names the setting and its range.

    Seed: combustion:config:threshold, combustion:config:maxPerSession, combustion:config:budget
    """
    if settings.mode not in MODES:
        raise ValueError(f"capture.advisory.mode must be one of {', '.join(MODES)}, not {settings.mode!r}")
    for name, value, (low, high) in (
        ("threshold", settings.threshold, THRESHOLD_RANGE),
        ("maxPerSession", settings.max_per_session, MAX_PER_SESSION_RANGE),
        ("budget", settings.budget_tokens, BUDGET_TOKENS_RANGE),
        ("minimumSurfaces", settings.minimum_surfaces, MINIMUM_SURFACES_RANGE),
    ):
        if not low <= value <= high:
            raise ValueError(f"capture.advisory.{name} must be between {low:g} and {high:g}, not {value!r}")
    return settings


def settings_from(section: AdvisorySection) -> AdvisorySettings:
    """The section `capture.advisory` of a loaded configuration as the advisor takes it."""
    return AdvisorySettings(
        mode=section.mode,
        threshold=section.threshold,
        max_per_session=section.max_per_session,
        budget_tokens=section.budget,
        minimum_surfaces=section.minimum_surfaces,
    )
