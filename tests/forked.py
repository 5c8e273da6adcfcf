"""Snakemake in a process of its own, forked from one that has imported it, which is most of what a start costs."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["snakemake.cli", "fabricstudy.workflow.snakefile"])


class Snakemake:
    """A run of Snakemake that has begun, to be used as a `subprocess.Popen`.

    Without a file for what it says, that goes where the tests' own output goes.
    """

    def __init__(self, arguments: list[str], folder: Path, environment: Mapping[str, str], said: str = "") -> None:
        self._process = _FORKS.Process(target=_run, args=(arguments, str(folder), dict(environment), said))
        self._process.start()

    def poll(self) -> int | None:
        """Exit code, if it has ended."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and give the exit code."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired("snakemake", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            assert self._process.pid is not None  # 0 would be our own group
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)


def run_snakemake(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run Snakemake to its end; give its exit code and what it printed."""
    with tempfile.NamedTemporaryFile("r") as said:
        code = Snakemake(arguments, folder, environment, said.name).wait()
        return code, said.read()


def _run(arguments: list[str], folder: str, environment: dict[str, str], said: str) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    # Whoever runs the tests in the background of a script has SIGINT ignored, which would be inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if said:
        with Path(said).open("w") as file:
            for descriptor in (1, 2):
                os.dup2(file.fileno(), descriptor)
    from snakemake.cli import main

    if "STATUS_EVERY_S" in environment:
        _ask_every(float(environment["STATUS_EVERY_S"]))
    sys.argv = ["snakemake", *arguments]
    main(arguments)


def _ask_every(seconds: float) -> None:
    """Let Snakemake ask a cluster at equal intervals; those of the plugin of Slurm grow by ten seconds each time."""
    from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

    async def sleep(executor: object) -> None:
        await asyncio.sleep(seconds)

    RemoteExecutor.sleep = sleep


def run_small(study: str) -> int:
    """Do all stages of a small study in this process and folder, and judge its points; return the exit code."""
    from fabricstudy.core.errors import exit_code_of
    from fabricstudy.study.file import load_study
    from fabricstudy.workflow.jobs import read_jobs
    from fabricstudy.workflow.snakefile import check_points
    from fabricstudy.workflow.stages import main

    def work() -> None:
        name = load_study(Path(study)).study
        folder = Path("results") / name
        with Path("small.log").open("w") as log, redirect_stdout(log), redirect_stderr(log):  # as the rule does
            main(["small", "--study", study, "--batch-cpu-s", "60", "--out", str(folder)])
        jobs = read_jobs(folder)
        assert jobs is not None
        check_points({name: jobs})

    return exit_code_of(work)
