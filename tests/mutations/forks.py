"""Runs of a study, each in a process forked from one that has imported the libraries and nothing of ours.

``python -m tests.mutations.forks`` answers each line of its input, a JSON object, by a line: which jobs were done in
each folder. Our own code is imported anew for each, as it stands then.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
from pandera.pandas import DataFrameSchema

from .rules import due_after, planned, rerun

LIBRARIES = (
    "numpy", "pandas", "pandera.pandas", "pandera.strategies.pandas_strategies", "pyarrow.csv",
    "pyarrow.parquet", "pydantic", "scipy.sparse.csgraph", "scipy.optimize", "snakemake.io", "yaml",
)  # fmt: skip


STUDY = "study.yaml"


def forked(work: Callable[[], Any], writes: bool = False) -> Any:
    """Do something in a child process; give what it gives, or the text of its error below "error"."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(2, 1)  # standard output is for answers
            answer = work()
        except BaseException:
            answer = {"error": traceback.format_exc()}
        with os.fdopen(writer, "w") as pipe:
            pipe.write(json.dumps(answer))
        if writes:
            atexit._run_exitfuncs()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def answer(
    finished: str | None = None,
    empty: str | None = None,
    writes: bool = False,
    module: str = "",
    changes: list[tuple[str, str, str]] | None = None,
) -> dict[str, Any]:
    """Run the study again in a folder where it has run, and then in an empty one, unless no stage imports the module.

    Parameters
    ----------
    finished, empty : str or None
        The folders, both with the same files of the study.
    writes : bool
        Whether what Python compiles may be kept.
    module : str
        Name of a module of ours.
    changes : list of tuple of str, optional
        Instead, tell what would be due in `finished` after each of these; see `due_after`.
    """
    sys.dont_write_bytecode = not writes
    # What both runs need is imported and planned once.
    os.chdir(empty or finished or "")
    study = planned(STUDY)
    if changes is not None:
        return {"due": due_after(study, changes)}

    def run(folder: str) -> dict[str, Any]:
        os.chdir(folder)
        return {"due": rerun(study), "imported": module in sys.modules}

    again = forked(lambda: run(finished), writes) if finished else None
    is_over = again is not None and ("error" in again or not (again["due"] or again["imported"]))
    fresh = forked(lambda: run(empty), writes) if empty and not is_over else None
    return {"again": again, "fresh": fresh}


def main() -> None:
    """Answer until the input ends."""
    for name in LIBRARIES:
        importlib.import_module(name)
    # Tables are checked by other tests, and that takes half their time.
    setattr(DataFrameSchema, "validate", lambda schema, frame, **_: schema.coerce_dtype(frame))  # noqa: B010
    numba.njit("int64(int64)")(lambda number: number)  # loads what numba knows of other libraries
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        asked = json.loads(line)
        before = os.times()
        answered = forked(partial(answer, **asked))
        after = os.times()
        answered["cpu_s"] = after.children_user + after.children_system - before.children_user - before.children_system
        print(json.dumps(answered), flush=True)


if __name__ == "__main__":
    main()
