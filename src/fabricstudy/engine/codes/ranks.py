"""Run a program as several MPI processes of this computer: ``python ranks.py NUMBER PROGRAM ARGUMENT...``.

Each process writes a separate file, since ``mpirun`` would mix their lines. All are printed at the end, first that of
the process that prints ROSS' version. The processes end with the parent of this one.
"""

import os
import subprocess
import sys
from pathlib import Path

from fabricstudy.core.files import remove
from fabricstudy.engine.process import end_with_parent

FOLDER = "ranks"
FIRST_LINE = "ROSS Version"
GAVE_UP, MAX_ATTEMPTS = "We never look for non-existent events", 5
"""Message of ROSS after an error in its rollbacks, which does not occur in each run."""

_TO_A_FILE = f'exec "$@" > {FOLDER}/$$'
_HERE = {"HYDRA_LAUNCHER": "fork", "HYDRA_RMK": "user"}
"""In a job of a cluster MPICH would start processes by the batch system, and their usage would not be measured."""


def main(number: str, *command: str) -> int:
    """Run the program, repeatedly where ROSS gave up, and return the exit code of ``mpirun``."""
    end_with_parent()
    inputs = set(Path().iterdir())
    for _ in range(MAX_ATTEMPTS):
        for output in set(Path().iterdir()) - inputs:
            remove(output)
        exit_code, texts = _run(["mpirun", "-n", number, "sh", "-c", _TO_A_FILE, "sh", *command])
        if exit_code == 0 or not any(GAVE_UP in text for text in texts):
            break
    sys.stdout.writelines(sorted(texts, key=lambda text: FIRST_LINE not in text))
    return exit_code if exit_code >= 0 else 128 - exit_code


def _run(launched: list[str]) -> tuple[int, list[str]]:
    folder = Path(FOLDER)
    folder.mkdir()
    exit_code = subprocess.run(launched, env=os.environ | _HERE, preexec_fn=end_with_parent).returncode
    texts = [path.read_text(errors="replace") for path in sorted(folder.iterdir())]
    remove(folder)
    return exit_code, texts


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
