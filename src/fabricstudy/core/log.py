"""What is done, told on standard error where somebody asks for it.

Each module has a logger of the standard library by its name. Warnings are shown in any case, all else with `tell`.
"""

import logging


def tell() -> None:
    """Show from now on what our modules say that they do, a line each."""
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("fabricstudy").setLevel(logging.INFO)
