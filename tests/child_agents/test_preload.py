"""What child hosts are forked with is there, and nothing big is left to import on their way to a result."""

from importlib.util import find_spec

from runtime.agent_service import PRELOAD


def test_every_module_that_the_template_imports_exists():
    assert [name for name in PRELOAD if find_spec(name) is None] == []
