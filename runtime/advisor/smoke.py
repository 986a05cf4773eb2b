"""Whether hints lead to tool use: open events and the streak of unused ones. It knows no heat and no prompts."""

from dataclasses import dataclass, replace

from runtime.advisor.constants import FEEDBACK_WINDOW_TURNS, SMOKE_STREAK_LIMIT


@dataclass(frozen=True, slots=True)
class Event:
    """A hint that may still be used."""

    namespaces: tuple[str, ...]
    turns_left: int = FEEDBACK_WINDOW_TURNS
    used: bool = False


@dataclass(frozen=True, slots=True)
class Smoke:
    """The streak of unused hints, and the events that are still open, oldest first.

    Seed: combustion:heat:smoke-meaning
    """

    streak: int = 0
    events: tuple[Event, ...] = ()

    def fired(self, namespaces: tuple[str, ...]) -> "Smoke":
        """A hint that named these namespaces opens an event.

        Seed: combustion:smoke:two-namespaces
        """
        return replace(self, events=(*self.events, Event(namespaces)))

    def tool_used(self, namespace: str) -> "Smoke":
        """A call from this namespace marks every open event that names it.

        Seed: combustion:smoke:either-uses
        """
        if not any(namespace in event.namespaces for event in self.events):
            return self
        return replace(
            self,
            events=tuple(
                replace(event, used=True) if namespace in event.namespaces else event for event in self.events
            ),
        )

    def turn_ended(self) -> "Smoke":
        """The next point of the feedback window: used events clear the streak, expired ones raise it, in fire order.

        Seed: combustion:smoke:window, combustion:smoke:used-clears, combustion:smoke:expired-adds,
        combustion:smoke:fire-order
        """
        if not self.events:
            return self
        streak = self.streak
        still_open = []
        for event in self.events:
            if event.used:
                streak = 0
            elif event.turns_left <= 1:
                streak = min(streak + 1, SMOKE_STREAK_LIMIT)
            else:
                still_open.append(replace(event, turns_left=event.turns_left - 1))
        return Smoke(streak, tuple(still_open))
