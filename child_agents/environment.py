"""Which environment a child process gets: an allow-list per runner and what was configured; pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from child_agents.inherited_bounds import VARIABLE as BOUNDS_VARIABLE
from host_bridge.zygote_launch import ZYGOTE_FD

DEPTH: Final = "PI_FABRIC_DEPTH"
AGENT_NAME: Final = "PI_FABRIC_AGENT_NAME"
PARENT_RUN: Final = "PI_FABRIC_PARENT_RUN"
CONTROL_FD: Final = "PI_FABRIC_CONTROL_FD"
"""The child's end of the control channel (`inheritance.py`)."""
LAUNCHER_FD: Final = "PI_FABRIC_LAUNCHER_FD"
"""Where a child host has its own guardian forked warm, by its worker; without it, it starts one cold."""
OWNER: Final = "PI_FABRIC_OWNER"
"""Which host's processes these are; the start-up sweep looks for it."""
OWN_VARIABLES: Final = (BOUNDS_VARIABLE, DEPTH, AGENT_NAME, PARENT_RUN, CONTROL_FD, ZYGOTE_FD, LAUNCHER_FD, OWNER)
"""Never passed on from a parent's environment: each is set anew for its child, or absent."""

COMMON: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "TERM", "COLORTERM", "NO_COLOR"),
        *("LANG", "LANGUAGE", "TZ", "TZDIR"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY"),
        *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "PIP_CERT"),
        *("GIT_SSL_CAINFO", "AWS_CA_BUNDLE"),
        *("PI_CODING_AGENT_DIR", "PI_OFFLINE"),
    }
)
PREFIXES: Final = ("LC_",)
PYTHON: Final = frozenset({"PYTHONPATH", "VIRTUAL_ENV", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONWARNINGS"})
"""What our own child hosts need to find the same packages."""
BY_RUNNER: Final[Mapping[str, frozenset[str]]] = {"program": PYTHON, "llm": PYTHON}
"""Further names by runner; a runner without an entry gets the common ones only."""


def allowed(name: str, runner: str, configured: Iterable[str] = ()) -> bool:
    """Whether a child of this runner may see the variable; our own variables never pass from parent to child."""
    if name in OWN_VARIABLES:
        return False
    return (
        name in COMMON or name.startswith(PREFIXES) or name in BY_RUNNER.get(runner, frozenset()) or name in configured
    )


def clean(environment: Mapping[str, str], runner: str, configured: Iterable[str] = ()) -> dict[str, str]:
    """The part of a parent's environment that reaches a child."""
    names = frozenset(configured)
    return {name: value for name, value in environment.items() if allowed(name, runner, names)}
