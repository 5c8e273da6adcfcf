"""What a module finds once and keeps for later processes, beside the code that Python compiles."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import sys
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any


class Kept:
    """Answers of a module by question, which live as long as its text: with another one they are found again.

    They are written when the process ends. What two processes find at the same time may be lost, and is found again.

    Parameters
    ----------
    module : str
        The module's file. Answers that depend on more must tell it themselves.
    folder : Path, optional
        Where they are kept, rather than where Python keeps the compiled module.
    """

    def __init__(self, module: str, folder: Path | None = None) -> None:
        self._module = Path(module)
        name = f"{self._module.stem}-{sys.implementation.cache_tag}.json"
        self.file = (folder or self._module.parent / "__pycache__") / name
        self._new: dict[str, Any] = {}

    def get(self, question: str) -> Any:
        """Give the answer, or None."""
        return self._answers.get(question)

    def put(self, question: str, answer: Any) -> None:
        """Keep an answer, which JSON must be able to hold."""
        if not self._new:
            atexit.register(self.write)
        self._new[question] = self._answers[question] = answer

    @cached_property
    def _by(self) -> str:
        return hashlib.sha256(self._module.read_bytes()).hexdigest()

    @cached_property
    def _answers(self) -> dict[str, Any]:
        return self._read()

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self.file.read_bytes())
            return dict(found["answers"]) if found["by"] == self._by else {}
        except (OSError, ValueError, TypeError, KeyError):
            return {}

    def write(self) -> None:
        """Write what is new; where nothing can be written, nothing is kept."""
        if sys.dont_write_bytecode:
            return
        whole = self.file.with_suffix(f".{os.getpid()}")
        try:
            self.file.parent.mkdir(exist_ok=True)
            whole.write_text(json.dumps({"by": self._by, "answers": self._read() | self._new}))
            whole.replace(self.file)
        except OSError:
            with suppress(OSError):
                whole.unlink()
