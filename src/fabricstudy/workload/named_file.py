"""Files that a kind names in a study and reads while the study is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from fabricstudy.model import ConfigError


def folder_to_read(value: Any, info: ValidationInfo, told: tuple[str, ...]) -> Path | None:
    """Give the study's folder if a kind is written there with a file to read now; None if not.

    Parameters
    ----------
    value : any value
        As written, or as it stands in a stored point.
    info : pydantic.ValidationInfo
        Whose context has the folder while a study is read.
    told : tuple of str
        Keys that the file tells.

    Raises
    ------
    ConfigError
        If the study writes one of these.
    """
    folder = (info.context or {}).get("folder")
    if folder is None or not isinstance(value, dict) or not isinstance(value.get("file"), str):
        return None
    for key in told:
        if key in value:
            raise ConfigError("unknown key", "leave it out; the file tells it", (key,), code="unknown-key")
    return Path(folder)
