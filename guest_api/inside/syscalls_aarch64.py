"""System call numbers and the audit architecture of aarch64; no policy. It has no `open`, `stat`, `access`, `readlink`.

Checked against the kernel's generic table by a test; the filter from it was emulated, not run on this architecture.
"""

from collections.abc import Mapping
from typing import Final

AUDIT_ARCH: Final = 0xC00000B7
FIRST_FOREIGN_NUMBER: Final = None
"""One table only: 32-bit programs have an audit architecture of their own."""
NUMBERS: Final[Mapping[str, int]] = {
    "getcwd": 17,
    "fcntl": 25,
    "ioctl": 29,
    "statfs": 43,
    "faccessat": 48,
    "openat": 56,
    "getdents64": 61,
    "lseek": 62,
    "read": 63,
    "write": 64,
    "readlinkat": 78,
    "newfstatat": 79,
    "fstat": 80,
    "exit": 93,
    "exit_group": 94,
    "futex": 98,
    "clock_gettime": 113,
    "restart_syscall": 128,
    "rt_sigreturn": 139,
    "sendto": 206,
    "recvfrom": 207,
    "brk": 214,
    "munmap": 215,
    "mremap": 216,
    "mmap": 222,
    "mprotect": 226,
    "madvise": 233,
    "getrandom": 278,
    "statx": 291,
    "faccessat2": 439,
}
