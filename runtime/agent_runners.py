"""Which kinds of children this host can start, by name."""

from child_agents.runners.port import Runner
from child_agents.runners.program import ProgramRunner


def runners() -> dict[str, Runner]:
    """The runners; model-driven and Pi runners join here."""
    return {"program": ProgramRunner()}
