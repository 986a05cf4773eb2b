"""System call numbers and the audit architecture of x86-64; no policy. Checked against the kernel's table by a test."""

from collections.abc import Mapping
from typing import Final

AUDIT_ARCH: Final = 0xC000003E
FIRST_FOREIGN_NUMBER: Final = 0x4000_0000
"""From here on a number means the x32 interface: another table, never wanted."""
NUMBERS: Final[Mapping[str, int]] = {
    "read": 0,
    "write": 1,
    "open": 2,
    "stat": 4,
    "fstat": 5,
    "lstat": 6,
    "lseek": 8,
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "rt_sigreturn": 15,
    "ioctl": 16,
    "access": 21,
    "mremap": 25,
    "madvise": 28,
    "sendto": 44,
    "recvfrom": 45,
    "exit": 60,
    "fcntl": 72,
    "getcwd": 79,
    "readlink": 89,
    "statfs": 137,
    "futex": 202,
    "getdents64": 217,
    "restart_syscall": 219,
    "clock_gettime": 228,
    "exit_group": 231,
    "openat": 257,
    "newfstatat": 262,
    "readlinkat": 267,
    "faccessat": 269,
    "getrandom": 318,
    "statx": 332,
    "faccessat2": 439,
}
