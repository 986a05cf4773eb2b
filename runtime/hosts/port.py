"""The port behind which a session lives: our own (`hosts/local.py`) or a live Pi's; services know no more of it."""

from collections.abc import Sequence
from typing import Any, Protocol

from guest_api.levels import Level
from runtime.models import Model
from runtime.transcript.entries import Entry


class SessionHost(Protocol):
    """Who owns the level, the model and the branch."""

    @property
    def level(self) -> Level:
        """The effective level now."""

    @property
    def level_is_set(self) -> bool:
        """False while nobody chose a level and the default applies: `unset` is not `off`."""

    @property
    def model(self) -> Model | None:
        """The active model; None: unknown, every level is listed."""

    async def set_level(self, level: Level | None, *, replayed: bool = False) -> Level:
        """Set the level as our own change (None: back to unset) and return what the host really applied.

        `replayed`: the level follows from what the branch says already; a host that can puts off recording it until
        the next append, so that opening a session writes nothing.
        """

    async def append_custom(self, custom_type: str, data: Any) -> Entry:
        """Append a custom entry to the branch; returns once it is as durable as the setting promises."""

    async def append_custom_message(
        self, custom_type: str, content: str, *, display: bool, details: Any = None
    ) -> Entry:
        """Append a custom message to the branch, likewise."""

    def branch(self) -> Sequence[Entry]:
        """The active branch, root first."""

    def warn(self, message: str) -> None:
        """Tell the person, once per call, on standard error or the host's own channel."""
