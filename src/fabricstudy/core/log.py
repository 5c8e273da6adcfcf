"""Logging on standard error: warnings always, progress after `enable_logging`. Each module has a logger of its name."""

import logging


def enable_logging() -> None:
    """Log progress from now on."""
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("fabricstudy").setLevel(logging.INFO)
