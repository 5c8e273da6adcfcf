"""What is done, told on standard error where somebody asks for it.

Each module has a logger of the standard library by its name. Warnings are always shown, the rest after
`enable_logging`.
"""

import logging


def enable_logging() -> None:
    """Show from now on what our modules say that they do, a line each."""
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("fabricstudy").setLevel(logging.INFO)
