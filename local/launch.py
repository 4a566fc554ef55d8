"""Becomes the command it is given, tied to the life of the process that started it.

    python -I -S launch.py [--unprivileged] SIGNAL COMMAND ARG...

On Linux the command is sent SIGNAL when the thread that started it ends, so that nothing survives a stack that is
killed. With `--unprivileged` and as root it becomes the user nobody first, because PostgreSQL refuses to
run as root; two capabilities let it still reach a data directory and binaries under root's closed home.
"""

import ctypes
import os
import pwd
import signal
import sys

PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 1, 8, 47, 2
CAPABILITY_VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2

UNPRIVILEGED_USER = "nobody"


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    """Effective, permitted and inheritable capabilities 0 to 31; a second one holds 32 to 63."""

    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def become_unprivileged(libc: ctypes.CDLL) -> None:
    """Becomes the user nobody, keeping only the right to reach files; on another system than Linux without it."""
    user = pwd.getpwnam(UNPRIVILEGED_USER)
    if sys.platform == "linux":
        checked(libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    if sys.platform == "linux":
        kept = (1 << CAP_DAC_OVERRIDE) | (1 << CAP_DAC_READ_SEARCH)
        sets = (_Sets * 2)(_Sets(kept, kept, kept), _Sets(0, 0, 0))
        checked(libc.capset(ctypes.byref(_Header(CAPABILITY_VERSION_3, 0)), sets))
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            checked(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0))


def main(arguments: list[str]) -> None:
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    if arguments[0] == "--unprivileged":
        arguments = arguments[1:]
        if os.geteuid() == 0:
            become_unprivileged(libc)
    if sys.platform == "linux":  # after the change of user, which would clear it
        checked(libc.prctl(PR_SET_PDEATHSIG, int(arguments[0]), 0, 0, 0))
        if os.getppid() != parent:  # it ended before it could be tied
            os.kill(os.getpid(), signal.SIGKILL)
    os.execv(arguments[1], arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
