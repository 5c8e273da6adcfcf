"""CODES on ROSS, fed with traces of our messages; the docstring grows."""

from .adapter import PROGRAM, Codes
from .files import OUTPUTS

__all__ = ["OUTPUTS", "PROGRAM", "Codes"]
