"""What Linux is asked for so that no process of ours is left behind; on macOS, which has no such call, nothing is."""

import ctypes
import signal

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
# Not on macOS.
_prctl = getattr(ctypes.CDLL(None), "prctl", None)


def end_with_parent() -> None:
    """Have this process killed as soon as the one that started it ends."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Have what descendants leave running as children of this process, so that it can wait for them."""
    if _prctl is not None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
