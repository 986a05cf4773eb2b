"""One ref, one owner; sources come and go alone; lazy sources answer late."""

import pytest

from host_bridge.actions import action
from host_bridge.errors import HandlerError, InvalidRefError, RefTakenError
from host_bridge.registry import Registry, UnknownActionError, descriptor_hash
from tests.host_bridge.support import registry_of


def make(ref, risk="read", description=""):
    return action(lambda: ref, ref=ref, risk=risk, description=description)


def test_a_source_is_replaced_without_touching_another():
    registry = registry_of(make("a.one"), make("b.two"))
    registry.replace_source("a", [make("a.three")])
    assert [entry.descriptor.ref for entry in registry.catalog().entries] == ["a.three", "b.two"]
    assert registry.lookup("a.one") is None


def test_two_sources_cannot_claim_one_ref_and_nothing_changes():
    registry = registry_of(make("a.one"))
    before = registry.catalog()
    with pytest.raises(RefTakenError, match="belongs to 'a'"):
        registry.replace_source("z", [make("z.fine"), make("a.one")])
    assert registry.catalog() == before


def test_one_source_cannot_offer_a_ref_twice():
    with pytest.raises(RefTakenError):
        Registry().replace_source("a", [make("a.one"), make("a.one")])


@pytest.mark.parametrize("root", ["thinking", "agents", "tools", "pi", "schema"])
def test_no_other_source_can_stand_in_for_the_host(root):
    registry = Registry()
    with pytest.raises(RefTakenError):
        registry.replace_source("plugin", [make(f"{root}.status")])
    registry.replace_source(root, [make(f"{root}.status")])
    with pytest.raises(RefTakenError):
        registry.replace_source("plugin", [], roots=[root])


def test_call_by_ref_is_no_action_of_anybody():
    with pytest.raises(RefTakenError):
        Registry().replace_source("tools", [make("tools.call")])


@pytest.mark.parametrize(
    "ref", ["one", "a..b", ".a", "a.", "a.b c", "a.b\n", "1a.b", "_a.b", "a." + "x" * 300, "a.b\x1b"]
)
def test_refs_that_no_program_can_write_are_refused(ref):
    with pytest.raises(InvalidRefError):
        Registry().replace_source("x", [_raw(ref)])


def _raw(ref):
    from host_bridge.descriptor import Action, Descriptor

    return Action(descriptor=Descriptor(ref=ref, risk="read"), handler=lambda a, c: None, waits=False)


def test_an_unknown_risk_is_refused():
    from host_bridge.descriptor import Action, Descriptor

    made = Action(descriptor=Descriptor(ref="a.b", risk="harmless"), handler=lambda a, c: None, waits=False)
    with pytest.raises(InvalidRefError, match="harmless"):
        Registry().replace_source("x", [made])


async def test_an_unknown_ref_names_the_closest():
    registry = registry_of(make("thinking.status"), make("mcp.git.status"))
    with pytest.raises(UnknownActionError, match=r"did you mean thinking\.status") as caught:
        await registry.resolve("thinking.statsu")
    assert caught.value.kind == "rejected"
    assert registry.suggest("wrong.status") != ()


async def test_a_lazy_source_answers_for_its_roots_only():
    asked = []

    async def resolver(ref):
        asked.append(ref)
        return make(ref) if ref == "mcp.late.tool" else None

    registry = registry_of(make("a.one"))
    registry.replace_source("mcp", [], roots=["mcp"], resolver=resolver)
    assert (await registry.resolve("mcp.late.tool")).descriptor.ref == "mcp.late.tool"
    with pytest.raises(UnknownActionError):
        await registry.resolve("mcp.never.tool")
    with pytest.raises(UnknownActionError):
        await registry.resolve("b.one")
    assert asked == ["mcp.late.tool", "mcp.never.tool"]
    assert registry.namespaces() == ["a", "mcp"]


async def test_a_lazy_source_that_answers_with_another_ref_is_not_believed():
    async def resolver(ref):
        return make("mcp.other.tool")

    registry = Registry()
    registry.replace_source("mcp", [], roots=["mcp"], resolver=resolver)
    with pytest.raises(HandlerError):
        await registry.resolve("mcp.wanted.tool")


async def test_a_lazy_source_may_register_what_it_found():
    registry = Registry()

    async def resolver(ref):
        registry.replace_source("mcp", [make("mcp.s.found")], roots=["mcp"], resolver=resolver)

    registry.replace_source("mcp", [], roots=["mcp"], resolver=resolver)
    assert (await registry.resolve("mcp.s.found")).descriptor.ref == "mcp.s.found"


def test_catalog_hashes_are_stable_and_follow_meaning():
    one = registry_of(make("a.one", description="x"), make("b.two"))
    two = registry_of(make("b.two"), make("a.one", description="x"))
    assert one.catalog().hash == two.catalog().hash
    assert one.catalog().hash != registry_of(make("a.one", description="y"), make("b.two")).catalog().hash
    assert descriptor_hash(make("a.one").descriptor) != descriptor_hash(make("a.one", risk="write").descriptor)


def test_subscribers_hear_of_changes_until_they_leave():
    registry, heard = Registry(), []
    leave = registry.subscribe(heard.append)
    registry.replace_source("a", [make("a.one")])
    registry.remove_source("a")
    registry.remove_source("a")
    leave()
    registry.replace_source("b", [])
    assert heard == ["a", "a"]
