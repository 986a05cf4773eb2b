"""Every attack ends as its index says, with real guests; and each layer, taken away, lets some attack through."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from guest_api.inside import names
from host_bridge.run_outcome import RunError
from tests.escapes.judge import EXPECTATIONS, Attack, judge
from tests.escapes.runner import LAYERS, load, open_arena, source_of

ROOT = Path(__file__).resolve().parents[2]
GIVEN = ROOT / "tests" / "data" / "escapes"
OWN = Path(__file__).parent / "programs"


@pytest.mark.parametrize(
    ("folder", "long"),
    [(GIVEN, False), (OWN, False), pytest.param(OWN, True, marks=pytest.mark.soak)],
    ids=["given", "own", "own-long"],
)
async def test_every_attack_ends_as_its_index_says(folder: Path, long: bool) -> None:
    wrong = []
    async with open_arena() as arena:
        # Four at a time: several of them only wait for their deadline.
        gate = trio.Semaphore(4)

        async def one(attack: Attack) -> None:
            async with gate:
                verdict = await arena.run(attack, source_of(folder, attack))
            if not verdict.passed:
                wrong.append(f"{attack.file}: expected {attack.expected}, {verdict.told}")

        async with trio.open_nursery() as nursery:
            for attack in load(folder):
                if attack.soak is long:
                    nursery.start_soon(one, attack)
    assert wrong == []


def test_the_index_lists_every_program_and_nothing_else() -> None:
    for folder in (GIVEN, OWN):
        listed = [attack.file for attack in load(folder)]
        assert len(listed) == len(set(listed))
        there = {path.name for path in folder.glob("*.py")}
        assert there | {"r09_compile_bomb_lines.py"} == set(listed) | {"r09_compile_bomb_lines.py"}
        assert {attack.expected for attack in load(folder)} <= set(EXPECTATIONS)


def test_there_are_at_least_as_many_attacks_of_our_own_as_were_given() -> None:
    assert len(load(OWN)) >= max(50, len(load(GIVEN)))


REFUSED_METHODS = (
    "setattr getattr reduce_ex getstate del match_args subclasshook instancecheck await prepare mro_entries class_getitem "
    "init_subclass set_name"
).split()


def test_each_refused_method_has_an_attack_of_its_own() -> None:
    files = {attack.file: (OWN / attack.file).read_text() for attack in load(OWN)}
    for method in REFUSED_METHODS:
        assert f"__{method}__" not in names.CLASS_METHODS
        assert f"__{method}__" in files[f"m_{method}.py"]


def test_each_published_advisory_has_an_attack_of_its_own() -> None:
    files = " ".join(attack.file for attack in load(OWN))
    for advisory in ("2023_37271", "2023_41039", "2024_47532", "2025_22153", "2026_55830", "2026_76825"):
        assert f"cve_{advisory}_" in files


async def let_through(layers: str | tuple[str, ...], attacks: list[tuple[Path, str]]) -> list[str]:
    through = []
    async with open_arena(*([layers] if isinstance(layers, str) else layers)) as arena:
        for folder, name in attacks:
            attack = next(each for each in load(folder) if each.file == name)
            assert not arena.skips(attack)
            outcome = await arena.outcome_of(attack, source_of(folder, attack))
            if outcome.error is None:
                through.append(name)
    return through


LANGUAGE_ATTACKS = [
    (GIVEN, name)
    for name in (
        "l01_subclass_walk.py",
        "l07_str_format_walk.py",
        "l09_fstring_dunder.py",
        "l11_except_star.py",
        "l13_match_class_dunder.py",
        "l24_type_builtin.py",
        "l32_dict_of_module.py",
        "l34_nested_quote_code.py",
    )
] + [
    (OWN, name)
    for name in (
        "m_setattr.py",
        "m_del.py",
        "cve_2023_37271_generator_frame.py",
        "cve_2023_41039_str_format.py",
        "cve_2024_47532_attribute_error_obj.py",
        "cve_2026_76825_string_formatter.py",
        "g_wraps_updated.py",
        "g_get_type_hints.py",
        "g_forward_ref.py",
        "g_functional_enum.py",
        "g_field_rename.py",
        "g_attrgetter.py",
        "g_module_attribute_codecs.py",
        "g_type_of_class.py",
        "g_getattr_computed.py",
        "g_format_through_super.py",
        "g_replace_alias_forwards.py",
        "g_deepcopy_memo_slot_names.py",
        "g_asdict_memo_slot_names.py",
        "g_context_decorator_copies.py",
    )
]


async def test_without_the_language_layer_its_attacks_succeed() -> None:
    through = await let_through("language", LANGUAGE_ATTACKS)
    missing = {name for _, name in LANGUAGE_ATTACKS} - set(through)
    assert missing == set()


async def test_without_seccomp_attacks_on_the_kernel_succeed() -> None:
    through = await let_through(
        "seccomp",
        [
            (GIVEN, name)
            for name in ("k09_rwx_memory.py", "k12_io_uring.py", "k14_memfd.py", "k16_keyctl.py", "k20_shmget.py")
        ],
    )
    assert len(through) >= 3


BEHIND_SECCOMP = [
    ("landlock", ["k_read_etc.py", "k_list_directory.py", "k_openat2.py"]),
    ("namespaces", ["k_connect_loopback.py", "k_host_process_visible.py"]),
    ("no_new_privs", ["k_capabilities.py", "k_bpf.py"]),
    ("closed_descriptors", ["k_read_stdin.py"]),
    ("rlimits", ["r_bounded_fork.py", "r_bounded_descriptors.py", "k_thread_library.py"]),
]


@pytest.mark.skipif(os.geteuid() != 0, reason="what root loses shows as root only")
@pytest.mark.parametrize(("layer", "files"), BEHIND_SECCOMP, ids=[layer for layer, _ in BEHIND_SECCOMP])
async def test_the_layers_behind_seccomp_hold_where_it_falls(layer: str, files: list[str]) -> None:
    attacks = [(OWN, name) for name in files]
    behind = attacks if layer != "namespaces" else attacks[:1]
    others = ("seccomp", "landlock") if layer == "namespaces" else ("seccomp",)  # Landlock guards the same a third time
    assert await let_through(others, behind) == []
    assert set(await let_through((*others, layer), attacks)) & set(files)


async def test_without_the_resource_limits_a_program_takes_what_it_wants() -> None:
    files = ["r_bounded_memory.py", "r_mapping_growth.py"]
    assert await let_through("rlimits", [(OWN, name) for name in files]) == files


async def test_without_an_empty_environment_the_hosts_shows() -> None:
    assert await let_through("empty_environment", [(GIVEN, "k07_env_leak.py")]) == ["k07_env_leak.py"]


def test_a_program_that_completes_fails_whatever_was_expected() -> None:
    for expected in EXPECTATIONS:
        assert not judge(Attack("x.py", "language", expected, False), None, 1).passed


@pytest.mark.parametrize(
    ("expected", "kind", "limit", "message", "passes"),
    [
        ("rejected at compile", "rejected", None, "no", True),
        ("rejected at compile", "program", None, "NameError", False),
        ("runtime error", "program", None, "ValueError", True),
        ("runtime error", "limit", "memory", "memory", True),
        ("runtime error", "limit", "timeout", "too long", False),
        ("runtime error", "crashed", None, "signal 11", False),
        ("killed by limit", "limit", "cpu", "cpu", True),
        ("killed by limit", "program", None, "ValueError", False),
        ("contained by kernel", "crashed", None, "signal 31", True),
        ("contained by kernel", "program", None, "PermissionError: no", True),
        ("contained by kernel", "program", None, "SyntaxError: broken attack", False),
        ("contained by kernel", "rejected", None, "no", False),
        ("runtime error", "host", None, "the host failed", False),
        ("unheard of", "program", None, "ValueError", False),
    ],
)
def test_the_judge_tells_expected_ends_from_others(
    expected: str, kind: str, limit: str | None, message: str, passes: bool
) -> None:
    verdict = judge(Attack("x.py", "language", expected, False), RunError(kind=kind, message=message, limit=limit))
    assert verdict.passed is passes


def test_the_command_counts_and_exits_with_one_on_a_failure(tmp_path: Path) -> None:
    rows = [("good.py", "return ().__class__"), ("bad.py", "return 1")]
    for name, source in rows:
        (tmp_path / name).write_text(source)
    entries = [{"file": name, "kind": "language", "expected": "rejected at compile", "raw": False} for name, _ in rows]
    (tmp_path / "index.json").write_text(json.dumps(entries))
    command = [sys.executable, "-m", "tests.escapes", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout.splitlines()[-1] == "1 passed, 1 failed"
    (tmp_path / "index.json").write_text(json.dumps(entries[:1]))
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "1 passed, 0 failed")


def test_every_layer_of_the_plan_can_be_taken_away_by_name() -> None:
    assert set(LAYERS) >= {"language", "seccomp", "landlock", "namespaces", "rlimits", "no_new_privs"}
