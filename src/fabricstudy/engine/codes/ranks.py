"""Run a program as several MPI processes of this computer: ``python ranks.py NUMBER PROGRAM ARGUMENT...``.

Each process writes a file of its own, since ``mpirun`` would mix their lines. All are written here at the end, first
that of the process that tells ROSS' version. Nothing of it outlives the process that started this.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from fabricstudy.engine.lifetime import end_with_parent

FOLDER = "ranks"
FIRST = "ROSS Version"
GAVE_UP, TRIES = "We never look for non-existent events", 5
"""What ROSS says where it lost track of what processes took back, which is another thing each time."""

_TO_A_FILE = f'exec "$@" > {FOLDER}/$$'
_HERE = {"HYDRA_LAUNCHER": "fork", "HYDRA_RMK": "user"}
"""In a job of a cluster MPICH would ask that for its processes, and nobody would see what they use."""


def main(number: str, *command: str) -> int:
    """Run the program, and again where ROSS gave up; give the exit code of ``mpirun``."""
    end_with_parent()
    inputs = set(Path().iterdir())
    for _ in range(TRIES):
        _remove(set(Path().iterdir()) - inputs)
        exit_code, texts = _run(["mpirun", "-n", number, "sh", "-c", _TO_A_FILE, "sh", *command])
        if exit_code == 0 or not any(GAVE_UP in text for text in texts):
            break
    sys.stdout.writelines(sorted(texts, key=lambda text: FIRST not in text))
    return exit_code if exit_code >= 0 else 128 - exit_code


def _run(launched: list[str]) -> tuple[int, list[str]]:
    folder = Path(FOLDER)
    folder.mkdir()
    exit_code = subprocess.run(launched, env=os.environ | _HERE, preexec_fn=end_with_parent).returncode
    texts = [path.read_text(errors="replace") for path in sorted(folder.iterdir())]
    shutil.rmtree(folder)
    return exit_code, texts


def _remove(outputs: set[Path]) -> None:
    for path in outputs:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
