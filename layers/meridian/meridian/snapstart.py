"""What a function does around Lambda SnapStart's snapshot: connections do not survive one.

A restored environment would find sockets that only look open, the same in each of the copies. Everything here
connects on first use, so mostly nothing is open when the snapshot is taken; this makes it certain.
"""

from collections.abc import Callable


def close_around_snapshot(close: Callable[[], object]) -> None:
    """Has `close` called before the snapshot is taken and again after each restoration.

    `snapshot_restore_py` comes with AWS's runtime from Python 3.12 on, the first that has SnapStart.
    """
    try:
        from snapshot_restore_py import register_after_restore, register_before_snapshot  # noqa: PLC0415
    except ImportError:
        return
    register_before_snapshot(close)
    register_after_restore(close)
