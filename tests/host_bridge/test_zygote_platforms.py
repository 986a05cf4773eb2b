"""Where guests can run and where they are refused by name: other users, containers, kernels, machines, platforms."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from host_bridge.confinement_plan import ConfinementPlan, State
from host_bridge.errors import IsolationUnavailableError
from host_bridge.isolation_probe import missing_names, probe
from host_bridge.zygote_client import open_guest_pool
from tests.host_bridge.raw_guests import CAN_DROP_ROOT, run, zygote_prelude

ROOT = Path(__file__).resolve().parents[2]
PLACES = [str(ROOT), str(Path(msgspec.__file__).parents[1])]
PYTHONS = [os.path.realpath(sys.executable), f"/usr/bin/python3.{sys.version_info.minor}"]
AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
WITHOUT_USER_NAMESPACES = [
    "unshare",
    "-Ur",
    "sh",
    "-c",
    'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all --inh-caps=-all "$@"',
    "sh",
]
WITHOUT_SYS_ADMIN = ["setpriv", "--bounding-set=-sys_admin"]
TRIAL = "import trio, runtime, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
REPORT = """
import json, trio
from host_bridge.confinement_plan import ConfinementPlan
from host_bridge.isolation_probe import missing_names, probe
report = trio.run(probe, ConfinementPlan.default())
print(json.dumps([report.available, report.contained, list(missing_names(report.layers)), report.refusal]))
"""


def report_of(prefix):
    """What the probe says in a process started through `prefix`; skips where that cannot be tried."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(PLACES), "PYTHONDONTWRITEBYTECODE": "1"}
    for python in PYTHONS:
        command = [*prefix, python]
        options = {"env": environment, "cwd": "/", "capture_output": True, "text": True, "check": False, "timeout": 60}
        if subprocess.run([*command, "-c", TRIAL], **options).returncode == 0:
            done = subprocess.run([*command, "-c", REPORT], **options)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)
    pytest.skip(f"cannot start an interpreter through {prefix[0]}")


@pytest.mark.skipif(not CAN_DROP_ROOT, reason="the tests already run as an ordinary user")
def test_an_ordinary_user_gets_every_layer():
    available, contained, missing, refusal = report_of(AS_NOBODY)
    assert refusal is None
    assert (available, contained) == (True, True)
    assert set(missing) <= {"landlock", "namespaces"}


@pytest.mark.skipif(not CAN_DROP_ROOT, reason="the tests already run as an ordinary user")
def test_an_ordinary_user_without_user_namespaces_is_isolated_without_that_layer():
    available, contained, missing, _ = report_of([*AS_NOBODY, *WITHOUT_USER_NAMESPACES])
    assert (available, contained) == (True, True)
    assert "namespaces" in missing


@pytest.mark.skipif(not CAN_DROP_ROOT, reason="needs root")
def test_root_of_a_container_without_namespaces_is_isolated_without_that_layer():
    available, contained, missing, _ = report_of(WITHOUT_USER_NAMESPACES)
    assert (available, contained) == (True, True)
    assert "namespaces" in missing


@pytest.mark.skipif(not CAN_DROP_ROOT, reason="needs root")
def test_root_without_the_capability_makes_a_user_namespace():
    available, contained, missing, _ = report_of(WITHOUT_SYS_ADMIN)
    assert (available, contained) == (True, True)
    assert set(missing) <= {"landlock", "namespaces"}


@pytest.mark.parametrize("given", ["-t 20", "-v 900000", "-n 64", "-f 8", "-c 0"])
def test_a_host_that_was_given_less_itself_isolates_as_well(given):
    available, contained, _, refusal = report_of(["sh", "-c", f'ulimit {given}; exec "$@"', "sh"])
    assert refusal is None
    assert (available, contained) == (True, True)


def test_a_guest_whose_host_was_given_less_processor_time_names_what_it_had():
    program = """
import trio
from host_bridge.admission import Admission
from host_bridge.confinement_plan import ConfinementPlan
from host_bridge.guest_process import run_program
from host_bridge.limits import RunLimits
from host_bridge.registry import Registry
from host_bridge.zygote_client import open_guest_pool

async def main():
    async with open_guest_pool(ConfinementPlan.default(), pool_size=0) as pool:
        guest = await pool.checkout()
        outcome = await run_program(
            guest, "while True: pass", None, admission=Admission(Registry()), limits=RunLimits(), run_id="r"
        )
        await guest.aclose()
        print(outcome.error.limit, outcome.error.message)

trio.run(main)
"""
    limited = ["sh", "-c", 'ulimit -t 5; exec "$@"', "sh", sys.executable, "-c", program]
    ended = subprocess.run(limited, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    said = "cpu the program used more than 4 s of processor time (setting executor.cpuSeconds)\n"
    assert (ended.returncode, ended.stdout) == (0, said), ended.stderr


def kernel_without(*refused, arguments=()):
    """A prelude that loads a filter answering ENOSYS to the numbers, as a kernel does that lacks them."""
    return f"""
import struct
from guest_api.inside import confine
confine.forbid_new_privileges()
program = struct.pack("<HBBI", 0x20, 0, 0, 0)
for number in {refused!r}:
    program += struct.pack("<HBBI", 0x15, 0, 1, number) + struct.pack("<HBBI", 0x06, 0, 0, 0x00050026)
for number, option in {arguments!r}:
    program += struct.pack("<HBBI", 0x15, 0, 4, number) + struct.pack("<HBBI", 0x20, 0, 0, 16)
    program += struct.pack("<HBBI", 0x15, 0, 1, option) + struct.pack("<HBBI", 0x06, 0, 0, 0x00050026)
    program += struct.pack("<HBBI", 0x20, 0, 0, 0)
program += struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
confine.PreparedFilter(program).load()
"""


ON_X86_64 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="uses system call numbers of x86-64")
NO_LANDLOCK = kernel_without(444)
NO_SECCOMP = kernel_without(317, arguments=((157, 22),))
NO_UNSHARE = kernel_without(272)
NO_PIDFD = kernel_without(434)


@ON_X86_64
async def test_a_kernel_without_landlock_is_used_and_the_skip_is_seen(monkeypatch):
    with zygote_prelude(monkeypatch, NO_LANDLOCK):
        async with open_guest_pool(ConfinementPlan.default(), language_layer=False) as pool:
            assert pool.skipped_layers == ("landlock",)
            guest = await pool.checkout()
            assert guest.skipped_layers == ("landlock",)
            await guest.aclose()


@ON_X86_64
async def test_a_kernel_without_landlock_is_refused_where_the_plan_is_strict_about_it(monkeypatch):
    plan = ConfinementPlan.default().with_state("landlock", State.STRICT)
    with zygote_prelude(monkeypatch, NO_LANDLOCK), pytest.raises(IsolationUnavailableError, match="landlock: "):
        async with open_guest_pool(plan):
            pass


@ON_X86_64
async def test_a_container_without_unshare_is_used_and_the_skip_is_seen(monkeypatch):
    with zygote_prelude(monkeypatch, NO_UNSHARE):
        async with open_guest_pool(ConfinementPlan.default(), language_layer=False) as pool:
            assert pool.skipped_layers == ("namespaces",)
            assert (await run(pool, "result = 1"))[0] == 1


@ON_X86_64
async def test_without_seccomp_nothing_runs_and_the_setting_is_named(monkeypatch):
    with zygote_prelude(monkeypatch, NO_SECCOMP):
        with pytest.raises(IsolationUnavailableError) as caught:
            async with open_guest_pool(ConfinementPlan.default()):
                pass
        assert caught.value.missing[0].startswith("seccomp: PR_SET_SECCOMP: Function not implemented")
        assert "CONFIG_SECCOMP_FILTER" in str(caught.value)
        assert '"executor.isolation": "trusted-process-only"' in str(caught.value)


@ON_X86_64
async def test_without_seccomp_the_weaker_mode_runs_trusted_programs_visibly(monkeypatch):
    with zygote_prelude(monkeypatch, NO_SECCOMP):
        async with open_guest_pool(ConfinementPlan.trusted_process_only(), language_layer=False) as pool:
            assert pool.skipped_layers == ("seccomp",)
            assert (await run(pool, "result = 1"))[0] == 1


async def test_a_machine_without_a_table_is_refused_by_name(monkeypatch):
    prelude = "import os; os.uname = lambda: os.uname_result(('Linux', 'host', '6.1', '1', 'riscv64'))"
    with zygote_prelude(monkeypatch, prelude):
        with pytest.raises(
            IsolationUnavailableError, match="no system call table for riscv64; there are x86_64, aarch64"
        ):
            async with open_guest_pool(ConfinementPlan.default()):
                pass
        async with open_guest_pool(ConfinementPlan.trusted_process_only(), language_layer=False) as pool:
            assert pool.skipped_layers == ("seccomp",)


@ON_X86_64
async def test_without_pidfds_the_zygote_kills(monkeypatch):
    with zygote_prelude(monkeypatch, NO_PIDFD):
        async with open_guest_pool(ConfinementPlan.default(), language_layer=False) as pool:
            guest = await pool.checkout()
            guest.kill()
            assert (await guest.wait()).signal == 9
            await guest.aclose()
            assert (await run(pool, "result = 1"))[0] == 1


async def test_another_system_is_refused_by_name_and_runs_in_the_weaker_mode(monkeypatch):
    """Another system is played by taking Linux's own calls away; it was not run on one."""
    prelude = "from guest_api.inside import confine; confine.is_linux = lambda: False; import os; del os.pidfd_open"
    with zygote_prelude(monkeypatch, prelude):
        with pytest.raises(IsolationUnavailableError, match=r"no_new_privs: Linux only.*trusted-process-only"):
            async with open_guest_pool(ConfinementPlan.default()):
                pass
        async with open_guest_pool(ConfinementPlan.trusted_process_only(), language_layer=False) as pool:
            assert {"seccomp", "landlock", "namespaces", "no_new_privs"} == set(pool.skipped_layers)
            assert (await run(pool, "import os; result = [dict(os.environ), os.getuid()]"))[0][0] == {}
            guest = await pool.checkout()
            guest.kill()
            assert (await guest.wait()).signal == 9
            await guest.aclose()


async def test_a_zygote_that_cannot_start_says_why(monkeypatch):
    with (
        zygote_prelude(monkeypatch, "raise RuntimeError('no interpreter for you')"),
        pytest.raises(IsolationUnavailableError, match="no interpreter for you"),
    ):
        async with open_guest_pool(ConfinementPlan.default()):
            pass


async def test_the_probe_claims_no_layer_where_no_guest_can_be_started(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nothing/python")
    report = await probe(ConfinementPlan.default())
    assert not report.available
    assert not any(layer.works for layer in report.layers)
    assert {layer.detail for layer in report.layers if layer.protection.name != "process_boundary"} == {
        "not tried: no guest can be started"
    }


@ON_X86_64
async def test_the_probe_names_every_missing_layer_at_once(monkeypatch):
    prelude = kernel_without(444, 317, arguments=((157, 22),))
    with zygote_prelude(monkeypatch, prelude):
        report = await probe(ConfinementPlan.default())
    assert not report.available
    assert set(missing_names(report.layers)) == {"seccomp", "landlock"}
    assert report.attempts == ()


@pytest.mark.parametrize(
    ("name", "gets_through"), [("seccomp", {"socket"}), ("landlock", set()), ("namespaces", set()), ("rlimits", set())]
)
async def test_the_self_test_discriminates(name, gets_through):
    """Without seccomp a socket can be made; the file and the fork are still held by other layers."""
    report = await probe(ConfinementPlan.default().without(name))
    assert {attempt.name for attempt in report.attempts if not attempt.contained} == gets_through
    assert missing_names(report.layers) == (name,)


async def test_without_any_kernel_layer_the_self_test_fails():
    plan = ConfinementPlan.default()
    for name in ("seccomp", "landlock", "namespaces", "rlimits", "no_new_privs"):
        plan = plan.without(name)
    report = await probe(plan)
    assert not any(attempt.contained for attempt in report.attempts)
    Path("/tmp/pi-fabric-doctor").unlink()
