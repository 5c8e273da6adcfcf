"""Bundled extensions as modules."""

import sys
from typing import Any

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.extensions import load_extensions


def bundled_extension(name: str) -> Any:
    """Return the module of a bundled extension."""
    return sys.modules[f"{load_extensions([f'extensions/{name}.py'], CONFIGS)}.{name}"]
