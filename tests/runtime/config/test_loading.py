"""`fabric.json`: files, order, trust, comments, and every way to be malformed."""

import json

import pytest

from guest_api.bounds import Bounds
from runtime import jsonc
from runtime.config import ConfigError, embedded_defaults, load_config, parse_config
from runtime.trust import TrustFileError, TrustStore, agent_dir


@pytest.fixture
def places(tmp_path):
    """An agent folder, a project folder, and an environment that knows the first."""
    agent, project = tmp_path / "agent", tmp_path / "project"
    agent.mkdir()
    (project / ".pi").mkdir(parents=True)
    return agent, project, {"PI_CODING_AGENT_DIR": str(agent), "HOME": str(tmp_path)}


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_without_files_everything_is_the_documented_default(places):
    _, project, env = places
    config = load_config(project, env=env)
    assert config.bounds.is_open
    assert not config.inherited
    assert not config.managed
    modes = (config.approvals.read, config.approvals.write, config.approvals.execute)
    assert (*modes, config.approvals.network, config.approvals.agent) == ("allow", "ask", "ask", "ask", "ask")
    assert config.schema.mode == "off"
    advisory = config.capture.advisory
    assert (advisory.mode, advisory.threshold, advisory.max_per_session) == ("enabled", 0.9, 3)
    assert (advisory.budget, advisory.minimum_surfaces) == (512, 0)
    assert (config.executor.timeout_ms, config.executor.memory_limit_bytes) == (120_000, 268_435_456)
    assert (config.agents.runner, config.agents.thinking, config.agents.max_depth) == ("program", None, 2)
    assert (config.agents.max_concurrent, config.agents.max_per_execution) == (4, 100)
    assert config.session.durability == "run"
    assert config.warnings == config.files == ()


def test_the_persons_file_lies_below_the_trusted_projects(places):
    agent, project, env = places
    write(
        agent / "fabric.json",
        {
            "thinking": {"bounds": {"min": "high"}},
            "approvals": {"write": "allow", "network": "deny", "rules": [{"ref": "pi.bash", "action": "deny"}]},
            "agents": {"aliases": {"fast": {"thinking": "low"}, "deep": {"thinking": "max"}}},
            "mcpServers": {"git": {"command": "a", "args": ["x"]}},
        },
    )
    write(
        project / ".pi" / "fabric.json",
        {
            "thinking": {"bounds": {"max": "low"}},
            "approvals": {"write": "ask", "rules": [{"ref": "pi.*", "action": "allow"}]},
            "agents": {"aliases": {"fast": {"model": "m"}}},
            "mcpServers": {"git": {"command": "b"}, "time": {"command": "t"}},
        },
    )
    TrustStore(agent).trust(project)
    config = load_config(project, env=env)
    assert config.bounds == Bounds(max="low"), "bounds are one value, never mixed from two files"
    assert (config.approvals.write, config.approvals.network) == ("ask", "deny")
    assert [(rule.ref, rule.action) for rule in config.approvals.rules] == [("pi.bash", "deny"), ("pi.*", "allow")]
    assert config.agents.aliases["fast"].thinking is None, "a named entry is replaced as a whole"
    assert config.agents.aliases["deep"].thinking == "max"
    assert config.mcp_servers["git"].command == "b"
    assert config.mcp_servers["git"].args == []
    assert set(config.mcp_servers) == {"git", "time"}
    assert [path.parent.name for path in config.files] == ["agent", ".pi"]


def test_an_untrusted_project_has_no_effect_and_the_warning_names_the_command(places):
    _, project, env = places
    write(project / ".pi" / "fabric.json", '{"approvals": {"write": "allow"}, "broken": ')
    config = load_config(project, env=env)
    assert config.approvals.write == "ask"
    assert "pi-fabric trust" in config.warnings[0]


def test_trust_is_for_exactly_one_folder_and_can_be_taken_back(places):
    agent, project, env = places
    write(project / ".pi" / "fabric.json", {"approvals": {"write": "allow"}})
    store = TrustStore(agent)
    store.trust(project.parent)
    assert load_config(project, env=env).approvals.write == "ask"
    assert store.trust(project)
    assert not store.trust(project)
    assert load_config(project, env=env).approvals.write == "allow"
    (project / "inner" / ".pi").mkdir(parents=True)
    write(project / "inner" / ".pi" / "fabric.json", {"approvals": {"write": "allow"}})
    assert load_config(project / "inner", env=env).approvals.write == "ask"
    assert store.revoke(project)
    assert load_config(project, env=env).approvals.write == "ask"


def test_a_broken_record_of_trust_is_an_error_and_trusts_nothing(places):
    agent, project, env = places
    write(project / ".pi" / "fabric.json", {})
    for text in ("{", "[]", '{"version": 2, "projects": []}', '{"version": 1, "projects": [1]}'):
        write(agent / "pi-fabric-trust.json", text)
        with pytest.raises(ConfigError, match="pi-fabric-trust"):
            load_config(project, env=env)
        with pytest.raises(TrustFileError):
            TrustStore(agent).trust(project)


def test_a_project_may_not_move_what_is_the_persons_alone(places):
    agent, project, env = places
    TrustStore(agent).trust(project)
    file = project / ".pi" / "fabric.json"
    write(file, {"managed": False})
    assert not load_config(project, env=env).managed
    for value in (
        {"managed": True},
        {"agents": {"delegation": {"write": "allow"}}},
        {"executor": {"isolation": "trusted-process-only"}},
        {"tools": {"outsideProject": True}},
    ):
        write(file, value)
        with pytest.raises(ConfigError, match="counts only in the global file"):
            load_config(project, env=env)
    write(agent / "fabric.json", {"managed": True})
    write(file, {})
    assert load_config(project, env=env).managed


def test_a_project_cannot_take_managed_back(places):
    agent, project, env = places
    TrustStore(agent).trust(project)
    write(agent / "fabric.json", {"managed": True})
    write(project / ".pi" / "fabric.json", {"managed": False})
    assert load_config(project, env=env).managed


def test_a_named_file_stands_in_for_the_projects_and_needs_no_trust(places, tmp_path):
    agent, project, env = places
    write(agent / "fabric.json", {"approvals": {"network": "deny"}})
    write(project / ".pi" / "fabric.json", {"approvals": {"write": "allow"}})
    named = write(tmp_path / "other.json", {"thinking": {"bounds": {"max": "low"}}})
    config = load_config(project, named, env=env)
    assert (config.approvals.write, config.approvals.network, config.bounds) == ("ask", "deny", Bounds(max="low"))
    with pytest.raises(ConfigError, match="no such file"):
        load_config(project, tmp_path / "missing.json", env=env)


def test_the_home_folder_is_used_without_the_variable(tmp_path):
    assert agent_dir({"HOME": str(tmp_path)}) == tmp_path / ".pi" / "agent"
    folder = tmp_path / ".pi" / "agent"
    folder.mkdir(parents=True)
    write(folder / "fabric.json", {"managed": True})
    assert load_config(tmp_path, env={"HOME": str(tmp_path)}).managed


def test_comments_are_allowed_and_slashes_inside_strings_are_not_comments(places):
    agent, project, env = places
    write(
        agent / "fabric.json",
        """// mine
        {
          "models": {"providers": {"local": { // here
            "baseUrl": "http://127.0.0.1:8080/v1", "apiKey": "a\\"//b",
            "models": [{"id": "r1", "reasoning": true, "thinkingLevelMap": {"xhigh": "extra"}, "contextWindow": 9}]
          }}} // done
        }
        // the end""",
    )
    config = load_config(project, env=env)
    provider = config.models.providers["local"]
    assert (provider.base_url, provider.api_key) == ("http://127.0.0.1:8080/v1", 'a"//b')
    assert config.catalog.find("local/r1") is config.catalog.find("r1")
    assert config.catalog.find("r1").supported_levels[-1] == "xhigh"
    assert config.catalog.find("r1").settings["contextWindow"] == 9


def test_the_place_of_an_error_behind_comments_is_the_files_own():
    with pytest.raises(jsonc.JsonTextError, match="line 2 column 14"):
        jsonc.decode('{ // one {"\n  "a": 1,    b}')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1"),
        ("{", "line 1"),
        ("[]", "wanted an object"),
        ("3", "wanted an object"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"thinking": {}, "thinking": {}}', "stands twice"),
        ('{"thinking": {"bounds": {"min": "low", "min": "high"}}}', "stands twice"),
        ("{'a': 1}", "line 1"),
        ('{"thinking": {},}', "line 1"),
        ("/* no */ {}", "line 1"),
        ("[" * 100_000, "nested too deeply"),
        ('{"thinking": {"bounds": {"min": ' + "9" * 5000 + "}}}", "got a very large int, wanted"),
    ],
)
def test_text_that_is_no_strict_json_is_refused_with_the_files_name(places, text, words):
    agent, project, env = places
    path = write(agent / "fabric.json", text)
    with pytest.raises(ConfigError, match=words) as refusal:
        load_config(project, env=env)
    assert refusal.value.where == str(path)


def test_a_file_that_is_no_text_and_a_folder_are_refused(places):
    agent, project, env = places
    (agent / "fabric.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        load_config(project, env=env)
    (agent / "fabric.json").unlink()
    (agent / "fabric.json").mkdir()
    with pytest.raises(ConfigError):
        load_config(project, env=env)


MALFORMED = [
    ({"thinking": {"bounds": {"max": "High"}}}, "thinking.bounds.max", "did you mean 'high'"),
    ({"thinking": {"bounds": {"max": "ultra"}}}, "thinking.bounds.max", "one of off, minimal, low"),
    ({"thinking": {"bounds": {"min": "high", "max": "low"}}}, "thinking.bounds.min", "not above"),
    ({"thinking": {"bounds": []}}, "thinking.bounds", "an object"),
    ({"thinking": {"bounds": "low"}}, "thinking.bounds", "an object"),
    ({"thinking": {"bounds": None}}, "thinking.bounds", "an object"),
    ({"thinking": {"bounds": {"mid": "low"}}}, "thinking.bounds.mid", "did you mean min"),
    ({"thinking": {"bounds": {"min": None}}}, "thinking.bounds.min", "got null"),
    ({"thinking": {"bounds": {"min": 1}}}, "thinking.bounds.min", "got 1"),
    ({"thinking": {"bound": {}}}, "thinking.bound", "did you mean 'bounds'"),
    ({"thinking": []}, "thinking", "an object"),
    ({"aprovals": {}}, "aprovals", "did you mean 'approvals'"),
    ({"approvals": {"write": "alow"}}, "approvals.write", "did you mean 'allow'"),
    ({"approvals": {"wirte": "allow"}}, "approvals.wirte", "did you mean 'write'"),
    ({"approvals": {"rules": [{"ref": "pi.bash"}]}}, "approvals.rules[0].action", "missing"),
    ({"approvals": {"rules": [{"ref": "", "action": "deny"}]}}, "approvals.rules[0].ref", "length at least 1"),
    ({"approvals": {"rules": [{"ref": "mcp.*.x", "action": "deny"}]}}, "approvals.rules[0]", "last part"),
    ({"approvals": {"rules": {}}}, "approvals.rules", "a list"),
    ({"schema": {"mode": "enforced"}}, "schema.mode", "did you mean 'enforce'"),
    ({"schema": {"mode": None}}, "schema.mode", "got null"),
    ({"capture": {"advisory": {"mode": "on"}}}, "capture.advisory.mode", "'disabled', 'hidden', 'enabled'"),
    ({"capture": {"advisory": {"threshold": -0.1}}}, "capture.advisory.threshold", "from 0"),
    ({"capture": {"advisory": {"threshold": 1000.1}}}, "capture.advisory.threshold", "to 1000"),
    ({"capture": {"advisory": {"threshold": "0.9"}}}, "capture.advisory.threshold", "a number"),
    ({"capture": {"advisory": {"maxPerSession": 0}}}, "capture.advisory.maxPerSession", "from 1 to 50"),
    ({"capture": {"advisory": {"maxPerSession": 51}}}, "capture.advisory.maxPerSession", "from 1 to 50"),
    ({"capture": {"advisory": {"minimumSurfaces": 1001}}}, "capture.advisory.minimumSurfaces", "from 0 to 1000"),
    ({"capture": {"advisory": {"budget": 127}}}, "capture.advisory.budget", "from 128 to 8192"),
    ({"capture": {"advisory": {"budget": 8193}}}, "capture.advisory.budget", "from 128 to 8192"),
    ({"capture": {"advisory": {"budget": True}}}, "capture.advisory.budget", "a whole number"),
    ({"capture": {"advisory": {"max_per_session": 3}}}, "capture.advisory.max_per_session", "maxPerSession"),
    ({"agents": {"thinking": "hgih"}}, "agents.thinking", "did you mean 'high'"),
    ({"agents": {"aliases": {"a": {"level": "low"}}}}, "agents.aliases.a.level", "unknown key"),
    ({"agents": {"maxDepth": -1}}, "agents.maxDepth", "at least 0"),
    ({"agents": {"timeoutMs": 0}}, "agents.timeoutMs", "at least 1"),
    ({"executor": {"timeoutMs": "120"}}, "executor.timeoutMs", "a whole number"),
    ({"executor": {"memoryLimit": 1}}, "executor.memoryLimit", "did you mean 'memoryLimitBytes'"),
    ({"executor": {"isolation": "none"}}, "executor.isolation", "'strict'"),
    ({"session": {"durability": "always"}}, "session.durability", "'entry', 'run', 'none'"),
    ({"mcpServers": {"g": {}}}, "mcpServers.g", "exactly one of"),
    ({"mcpServers": {"g": {"command": "a", "url": "b"}}}, "mcpServers.g", "exactly one of"),
    ({"mcpServers": []}, "mcpServers", "a dict"),
    ({"models": {"providers": {"p": {"models": [{}]}}}}, "models.providers.p.models[0].id", "missing"),
    ({"managed": "yes"}, "managed", "true or false"),
]


@pytest.mark.parametrize(
    ("value", "key", "words"), MALFORMED, ids=[f"{key}-{n}" for n, (_, key, _) in enumerate(MALFORMED)]
)
def test_a_malformed_value_is_refused_with_file_key_got_and_wanted(places, value, key, words):
    agent, project, env = places
    path = write(agent / "fabric.json", value)
    with pytest.raises(ConfigError) as refusal:
        load_config(project, env=env)
    assert refusal.value.key == key
    assert str(refusal.value).startswith(f"{path}: {key}")
    assert words in str(refusal.value)
    with pytest.raises(ConfigError):
        parse_config(value, env)


@pytest.mark.parametrize(
    ("low", "high"), [("threshold", (0, 1000)), ("maxPerSession", (1, 50)), ("budget", (128, 8192))]
)
def test_the_limits_of_the_advisor_are_included(low, high):
    for value in high:
        parse_config({"capture": {"advisory": {low: value}}}, {})


def test_one_level_may_be_both_ends():
    assert parse_config({"thinking": {"bounds": {"min": "low", "max": "low"}}}, {}).bounds == Bounds(
        min="low", max="low"
    )


def test_inherited_bounds_cut_the_configured_ones_also_for_an_embedded_host():
    env = {"PI_FABRIC_THINKING_BOUNDS": '{"min":"low","max":"medium"}'}
    config = parse_config({"thinking": {"bounds": {"max": "high"}}}, env)
    assert (config.bounds, config.inherited) == (Bounds(min="low", max="medium"), True)
    assert config.thinking.bounds == Bounds(max="high")
    assert embedded_defaults(env).bounds == Bounds(min="low", max="medium")
    assert parse_config({"thinking": {"bounds": {"max": "off"}}}, env).bounds == Bounds(min="low", max="medium")


def test_blank_and_empty_inherited_bounds_are_none_at_all():
    for value in ("", " \n", "{}"):
        config = embedded_defaults({"PI_FABRIC_THINKING_BOUNDS": value})
        assert config.bounds.is_open
        assert not config.inherited


def test_a_malformed_inherited_value_fails_the_load_and_names_the_variable():
    for value in ("low", '{"max":"High"}', "[]", '{"min":"high","max":"low"}', '{"min":null}'):
        with pytest.raises(ConfigError, match="PI_FABRIC_THINKING_BOUNDS"):
            embedded_defaults({"PI_FABRIC_THINKING_BOUNDS": value})


def test_the_documented_example_loads():
    parse_config(
        {
            "thinking": {"bounds": {"min": "low", "max": "high"}},
            "approvals": {"read": "allow", "write": "ask", "rules": [{"ref": "mcp.git.*", "action": "allow"}]},
            "schema": {"mode": "off"},
            "capture": {"advisory": {"mode": "enabled", "threshold": 0.9, "maxPerSession": 3, "budget": 512}},
            "agents": {"runner": "program", "thinking": "medium", "aliases": {}, "maxConcurrent": 4},
            "models": {"providers": {"local": {"baseUrl": "http://x/v1", "api": "openai-completions", "models": []}}},
            "mcpServers": {"git": {"command": "mcp-server-git", "args": [], "env": {}, "timeoutMs": 60000}},
            "executor": {"timeoutMs": 120000, "memoryLimitBytes": 268435456},
            "managed": False,
        },
        {},
    )
