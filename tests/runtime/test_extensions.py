"""Python functions as tools: typed, named, one broken plug-in hurts nobody."""

import threading
import types
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
import trio

from host_bridge.admission import Admission, RunContext
from host_bridge.approvals import ApprovalPolicy
from host_bridge.descriptor import Action
from host_bridge.errors import InvalidRefError
from host_bridge.registry import Registry
from runtime import open_host
from runtime.extensions import extension_actions, installed_extensions, tool
from runtime.tool_sources import plugins_installed


@tool(risk="read")
def word_count(text: str, least: int = 1) -> int:
    """Count the words of a text that are long enough. More follows."""
    return len([word for word in text.split() if len(word) >= least])


@tool(risk="network", name="fetch_one")
async def fetch(url: str, kind: Literal["html", "text"] = "text") -> dict[str, str]:
    """Fetch one page."""
    await trio.sleep(0)
    return {"url": url, "kind": kind}


@dataclass
class Place:
    name: str
    size: float | None = None


@tool(risk="write")
def save(places: list[Place], count: Annotated[int, msgspec.Meta(ge=1, le=9)]) -> list[str]:
    """Save places."""
    return [place.name for place in places] * count


@tool
def unmarked() -> str:
    return "x"


async def call(actions: list[Action], ref: str, **arguments: Any) -> Any:
    registry = Registry()
    registry.replace_source("extensions", actions)
    admission = Admission(registry, policy=ApprovalPolicy(run_allow=frozenset({"write", "network", "execute"})))
    run = RunContext(run_id="run-1")
    admitted = admission.begin(1, ref, arguments, run)
    if not admitted.settled:
        await admission.finish(admitted, run)
    return admitted


def test_annotations_become_the_schema_and_the_docstring_the_description() -> None:
    (action,) = extension_actions([word_count])
    found = action.descriptor
    assert (found.ref, found.risk, found.namespace) == ("extensions.word_count", "read", "extension:word_count")
    assert found.description == "Count the words of a text that are long enough. More follows."
    assert found.input_schema is not None
    assert found.input_schema["properties"] == {"text": {"type": "string"}, "least": {"type": "integer", "default": 1}}
    assert found.input_schema["required"] == ["text"]
    assert found.output_schema == {"type": "integer"}
    assert found.speculation_eligible


def test_a_tool_that_says_nothing_of_its_risk_is_an_execute() -> None:
    assert extension_actions([unmarked])[0].descriptor.risk == "execute"


def test_the_function_can_still_be_called_as_it_is() -> None:
    assert word_count("one two", least=4) == 0


async def test_sync_and_async_tools_answer() -> None:
    actions = extension_actions([word_count, fetch, save])
    assert (await call(actions, "extensions.word_count", text="a bb ccc", least=2)).value == 2
    assert (await call(actions, "extensions.fetch_one", url="u")).value == {"url": "u", "kind": "text"}
    saved = await call(actions, "extensions.save", places=[{"name": "a"}, {"name": "b", "size": 1.5}], count=2)
    assert saved.value == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("ref", "arguments", "expected"),
    [
        ("extensions.word_count", {"txt": "a"}, "txt: got 'a', wanted one of text, least; did you mean 'text'?"),
        ("extensions.fetch_one", {"url": "u", "kind": "htm"}, "wanted one of 'html', 'text'; did you mean 'html'?"),
        ("extensions.save", {"places": [], "count": 10}, "count: got 10"),
        ("extensions.save", {"places": [{"size": 1}], "count": 1}, "places[0]"),
    ],
)
async def test_wrong_arguments_are_refused_in_plain_words(ref: str, arguments: dict[str, Any], expected: str) -> None:
    admitted = await call(extension_actions([word_count, fetch, save]), ref, **arguments)
    assert (admitted.ok, admitted.kind) == (False, "rejected")
    assert expected in admitted.message


async def test_a_blocking_tool_holds_up_nothing_and_a_cancelled_call_leaves_it() -> None:
    entered, release = threading.Event(), threading.Event()

    @tool(risk="read")
    def block() -> str:
        """Block."""
        entered.set()
        release.wait(20)
        return "late"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: call(extension_actions([block]), "extensions.block"))
        with trio.fail_after(20):
            await trio.to_thread.run_sync(entered.wait)
        nursery.cancel_scope.cancel()
    release.set()


async def test_a_failing_tool_is_a_typed_failure_without_a_traceback() -> None:
    @tool(risk="read")
    def broken() -> str:
        """Break."""
        raise KeyError("inner")

    admitted = await call(extension_actions([broken]), "extensions.broken")
    assert (admitted.ok, admitted.kind) == (False, "host")
    assert admitted.message == "extensions.broken failed: KeyError: 'inner'"


async def test_a_tools_own_limit_ends_its_call(autojump_clock: trio.testing.MockClock) -> None:
    @tool(risk="read", timeout_seconds=2)
    async def slow() -> None:
        """Sleep."""
        await trio.sleep_forever()

    admitted = await call(extension_actions([slow]), "extensions.slow")
    assert (admitted.kind, "its own limit of 2 s" in admitted.message) == ("limit", True)


async def test_a_result_that_json_cannot_carry_is_refused_with_its_path() -> None:
    @tool(risk="read")
    def odd() -> dict[str, Any]:
        """Return a set."""
        return {"rows": [{"tags": {1, 2}}]}

    admitted = await call(extension_actions([odd]), "extensions.odd")
    assert (admitted.kind, "$.rows[0].tags" in admitted.message) == ("host", True)


@pytest.mark.parametrize("name", ["_private", "a.b", "two words", ""])
def test_a_name_that_no_program_can_call_is_refused(name: str) -> None:
    with pytest.raises(InvalidRefError):
        tool(risk="read", name=name)(lambda: None).as_action() if name else extension_actions(
            [types.SimpleNamespace(as_action=lambda extension: tool(risk="read", name="-")(lambda: None).as_action())]  # type: ignore[list-item]
        )


def test_a_parameter_that_json_cannot_give_is_refused() -> None:
    @tool(risk="read")
    def takes(callback: threading.Thread) -> None:
        """Take a thread."""

    with pytest.raises(TypeError, match=r"extensions\.takes"):
        extension_actions([takes])


PLUGIN = '''
from runtime import tool

@tool(risk="read")
def shout(text: str) -> str:
    """Shout."""
    return text.upper()

def register():
    return [shout]

not_a_tool = 5
'''


def plugin(folder: Path, name: str, entry_points: dict[str, str]) -> None:
    """An installed distribution, as pip lays it out."""
    (folder / f"{name}.py").write_text(PLUGIN)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{key} = {value}" for key, value in entry_points.items()]
    (info / "entry_points.txt").write_text("[pi_fabric.extensions]\n" + "\n".join(lines) + "\n")


def test_installed_plugins_are_found_and_a_broken_one_is_only_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin(
        tmp_path,
        "shouting_plugin",
        {
            "module": "shouting_plugin",
            "function": "shouting_plugin:register",
            "single": "shouting_plugin:shout",
            "wrong": "shouting_plugin:not_a_tool",
            "missing": "no_such_module",
        },
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert plugins_installed([str(tmp_path)])
    assert not plugins_installed([str(tmp_path / "empty"), str(tmp_path / "shouting_plugin-1.0.dist-info")])
    warnings: list[str] = []
    points = list(metadata.distribution("shouting_plugin").entry_points)
    found = installed_extensions(warnings.append, entry_points=points)
    assert sorted(found) == ["function", "module", "single"]
    for name, actions in found.items():
        assert [action.descriptor.ref for action in actions] == ["extensions.shout"]
        assert actions[0].descriptor.namespace == f"extension:{name}"
    assert sorted(warning.split()[1] for warning in warnings) == ["missing", "wrong"]


def test_a_plugin_cannot_register_outside_its_root(tmp_path: Path) -> None:
    from host_bridge.actions import action

    stolen = action(lambda: 1, ref="thinking.status", risk="read")
    point = types.SimpleNamespace(name="thief", value="x", load=lambda: [stolen])
    warnings: list[str] = []
    assert installed_extensions(warnings.append, entry_points=[point]) == {}  # type: ignore[list-item]
    assert "begin with `extensions.`" in warnings[0]


async def test_keys_of_whole_numbers_come_from_text_and_a_parameter_may_be_called_self() -> None:
    @tool(risk="read")
    def keyed(rows: dict[int, str], self: str) -> list[int]:
        return [*rows, len(self)]

    with trio.fail_after(30):
        async with open_host(actions=[keyed]) as host:
            result = await host.run_program("return await extensions.keyed(rows={'1': 'a', '22': 'b'}, self='xyz')")
            assert result.value == [1, 22, 3], result.error
            result = await host.run_program("return await extensions.keyed(rows={'1': 2}, self='xyz')")
            assert result.error.message.endswith("rows.1: got 2, wanted text")


async def test_a_tool_that_exits_fails_its_call_and_the_host_goes_on() -> None:
    @tool(risk="read")
    def leave() -> None:
        raise SystemExit(3)

    with trio.fail_after(30):
        async with open_host(actions=[leave]) as host:
            result = await host.run_program("await extensions.leave()")
            assert result.error.message.endswith("extensions.leave failed: SystemExit: 3")
            assert (await host.run_program("return 1")).value == 1
