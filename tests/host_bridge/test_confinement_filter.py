"""The seccomp filter, emulated instruction by instruction for both machines: what is not named is death."""

import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guest_api.inside.syscall_filter import (
    ALLOW,
    ALLOWED,
    ANSWERED_EACCES,
    ARCHITECTURES,
    ERRNO,
    KILL_PROCESS,
    ON_THE_BRIDGE,
    WITHOUT_PROT_EXEC,
    build_filter,
)

EACCES, EBADF = ERRNO | 13, ERRNO | 9
MACHINES = sorted(ARCHITECTURES)
PROGRAMS = {machine: list(struct.iter_unpack("<HBBI", build_filter(ARCHITECTURES[machine]))) for machine in MACHINES}
HEADERS = {"x86_64": "x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "asm-generic/unistd.h"}


def verdict(machine, number, args=(), arch=None):
    """Run the classic BPF program over one `struct seccomp_data`."""
    arch = ARCHITECTURES[machine].audit_arch if arch is None else arch
    data = struct.pack("<IIQ6Q", number, arch, 0, *[*args, 0, 0, 0, 0, 0, 0][:6])
    at = accumulator = 0
    while True:
        operation, if_true, if_false, operand = PROGRAMS[machine][at]
        at += 1
        match operation:
            case 0x20:
                accumulator = struct.unpack_from("<I", data, operand)[0]
            case 0x54:
                accumulator &= operand
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case 0x06:
                return operand
            case _:
                raise AssertionError(f"unknown instruction {operation:#x}")


def number(machine, name):
    return ARCHITECTURES[machine].numbers[name]


@pytest.mark.parametrize("machine", MACHINES)
def test_computing_and_leaving_are_allowed(machine):
    for name in ALLOWED:
        assert verdict(machine, number(machine, name)) == ALLOW, name


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ON_THE_BRIDGE)
def test_only_the_bridge_can_be_read_and_written(machine, name):
    assert verdict(machine, number(machine, name), (3, 1, 1)) == ALLOW
    for descriptor in (0, 1, 2, 4, 0xFFFF_FFFF):
        assert verdict(machine, number(machine, name), (descriptor, 1, 1)) == EBADF


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["sendto", "recvfrom"])
def test_no_address_and_no_out_of_band_flag_passes(machine, name):
    call = number(machine, name)
    assert verdict(machine, call, (3, 1, 1, 0x4000 | 0x40, 0)) == ALLOW
    assert verdict(machine, call, (3, 1, 1, 1, 0)) == KILL_PROCESS  # MSG_OOB
    assert verdict(machine, call, (3, 1, 1, 0, 0x1000)) == KILL_PROCESS
    assert verdict(machine, call, (3, 1, 1, 0, 0x1_0000_0000)) == KILL_PROCESS  # only the high half


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", WITHOUT_PROT_EXEC)
def test_memory_never_becomes_code(machine, name):
    assert verdict(machine, number(machine, name), (0, 4096, 3)) == ALLOW
    assert verdict(machine, number(machine, name), (0, 4096, 7)) == KILL_PROCESS
    assert verdict(machine, number(machine, name), (0, 4096, 4)) == KILL_PROCESS


@pytest.mark.parametrize("machine", MACHINES)
def test_a_futex_waits_and_wakes_and_nothing_else(machine):
    call = number(machine, "futex")
    for command in (0, 1, 9, 10, 0 | 128, 9 | 128 | 256):
        assert verdict(machine, call, (1, command)) == ALLOW
    for command in (3, 4, 5, 6, 7, 8, 11, 12, 13, 11 | 128):
        assert verdict(machine, call, (1, command)) == KILL_PROCESS


@pytest.mark.parametrize("machine", MACHINES)
def test_what_cpython_tries_by_itself_gets_an_error(machine):
    for name in ANSWERED_EACCES:
        if name in ARCHITECTURES[machine].numbers:
            assert verdict(machine, number(machine, name)) == EACCES, name


@pytest.mark.parametrize("machine", MACHINES)
@given(data=st.data())
def test_every_other_number_is_death(machine, data):
    named = set(ARCHITECTURES[machine].numbers.values())
    other = data.draw(st.integers(0, 2**32 - 1).filter(lambda value: value not in named))
    args = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6))
    assert verdict(machine, other, args) == KILL_PROCESS


@pytest.mark.parametrize("machine", MACHINES)
@given(arch=st.integers(0, 2**32 - 1), call=st.integers(0, 2**32 - 1))
def test_a_foreign_calling_convention_is_death(machine, arch, call):
    if arch != ARCHITECTURES[machine].audit_arch:
        assert verdict(machine, call, arch=arch) == KILL_PROCESS


def test_x32_numbers_are_death_even_where_the_low_bits_are_allowed():
    for call in ARCHITECTURES["x86_64"].numbers.values():
        assert verdict("x86_64", call | 0x4000_0000, (3,)) == KILL_PROCESS


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_the_kernels_own(machine):
    header = Path("/usr/include") / HEADERS[machine]
    if not header.exists():
        pytest.skip(f"no kernel header {header}")
    found = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text()))
    generic = {"fcntl": "fcntl", "newfstatat": "fstatat", "mmap": "mmap", "lseek": "lseek", "statfs": "statfs"}
    for name, value in ARCHITECTURES[machine].numbers.items():
        known = found.get(name) or found.get(generic.get(name, name))
        assert known is not None, name
        assert int(known) == value, name
