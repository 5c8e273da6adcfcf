"""Logging on standard error: warnings always, progress after `enable_logging`. Each module has a logger of its name."""

import logging
from functools import cache


def enable_logging() -> None:
    """Log progress from now on."""
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("fabricstudy").setLevel(logging.INFO)


@cache
def warn_once(words: str) -> None:
    """Print a warning, the first time that a process has it."""
    logging.getLogger("fabricstudy").warning(words)
