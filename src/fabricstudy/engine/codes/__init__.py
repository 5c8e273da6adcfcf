"""CODES on ROSS, fed with traces of our messages; the docstring grows."""

from .adapter import PROGRAM, Codes

__all__ = ["PROGRAM", "Codes"]
