"""A Slurm of our own on this machine: munged, slurmctld and one slurmd on loopback, as whoever runs it.

It needs no systemd, no root and nothing in /etc, and does not meet a Slurm that is already there.
``python -m tests.slurm.cluster COMMAND [ARGUMENT...]`` runs a command while it is up.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "srun", "squeue", "scontrol", "scancel", "sinfo", "sacct", "sacctmgr", "sshare")
NODE = "one"
START_S = 60.0

TEMPLATE = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmdPort={daemon_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MpiDefault=none
# By parent process, since simulators have sessions of their own; real clusters use cgroups.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
KillWait=5
MinJobAge=3600
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
# The memory of a job is looked at each second, and a job that has more than it asked for is killed.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory_mb} State=UNKNOWN
PartitionName=main Nodes={node} Default=YES MaxTime=INFINITE State=UP
PartitionName=other Nodes={node} MaxTime=INFINITE State=UP
"""


def missing() -> str | None:
    """Return why no Slurm can be started here, or None."""
    absent = [name for name in (*DAEMONS, *COMMANDS) if shutil.which(name, path=_path()) is None]
    return (
        f"Slurm is not installed (no {', '.join(absent)}); Debian: apt-get install slurm-wlm munge" if absent else None
    )


class Cluster:
    """One controller and one node, whose files are below `folder`.

    Parameters
    ----------
    folder : Path
        An empty folder that nobody else can write to.
    """

    node_names: tuple[str, ...] = (NODE,)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: dict[str, list[subprocess.Popen[bytes]]] = defaultdict(list)

    def start(self) -> None:
        """Write the configuration and start the daemons."""
        self.folder.chmod(0o755)
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir()
        (self.folder / "slurm.conf").write_text(self._configuration())
        self._wrap_commands()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self._daemon(
            *("munged", "--foreground", "--force", "--num-threads=2"),
            *(f"--key-file={key}", f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munged.pid"),
            *(f"--seed-file={self.folder}/munged.seed", f"--log-file={self.folder}/munged.log"),
        )
        wait(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.start_controller()
        for name in self.node_names:
            self._daemon("slurmd", "-D", "-N", name)
        wait(lambda: all(self.node_state(name).startswith("IDLE") for name in self.node_names), "slurmd")

    def start_controller(self) -> None:
        """Start the controller, with the state that an earlier one left."""
        self._daemon("slurmctld", "-D")
        wait(lambda: "UP" in self.ask("scontrol", "ping"), "slurmctld")

    def stop_controller(self) -> None:
        """End the controller, as for a restart; running jobs go on."""
        self._end("slurmctld")

    def drain(self) -> None:
        """Let the node take no further jobs; those that run go on."""
        self.ask("scontrol", "update", f"nodename={NODE}", "state=drain", "reason=test")

    def resume(self) -> None:
        """Take the node back into service."""
        wait(self._resumed, "the node's return")

    def _resumed(self) -> bool:
        if "DRAIN" in self.node_state():
            # Refused by a controller that has just started and has not heard from the node.
            self.ask("scontrol", "update", f"nodename={NODE}", "state=resume")
        return self.node_state().startswith(("IDLE", "MIXED", "ALLOCATED")) and "DRAIN" not in self.node_state()

    def clear(self) -> None:
        """Cancel all jobs and take the node back into service."""
        if "slurmctld" not in self._running:
            self.start_controller()
        self.ask("scancel", f"--user={getpass.getuser()}")
        wait(lambda: not self.ask("squeue", "--noheader"), "the end of the jobs")
        self.resume()

    def stop(self) -> None:
        """End all jobs and daemons."""
        with contextlib.suppress(TimeoutError, subprocess.SubprocessError):
            self.clear()
        for name in ("slurmd", "slurmctld", "munged"):
            self._end(name)

    @property
    def environment(self) -> dict[str, str]:
        """Environment whose commands are those of this cluster, without what is left of an outer Slurm."""
        outer = ("SLURM_", "SBATCH_", "SRUN_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
        return kept | {"PATH": f"{self.folder}/bin:{_path()}"}

    def ask(self, *command: str) -> str:
        """Run one of Slurm's commands and give what it prints, or nothing if it fails."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=self.environment)
        return done.stdout.strip() if done.returncode == 0 else ""

    def node_state(self, name: str = NODE) -> str:
        """State of a node, such as IDLE or MIXED+DRAIN."""
        words = self.ask("scontrol", "--oneliner", "show", "node", name).split()
        return next((word.removeprefix("State=") for word in words if word.startswith("State=")), "")

    def jobs(self, state: str = "RUNNING") -> list[str]:
        """Ids of the jobs in a state, those of array tasks such as 3_2."""
        return self.ask("squeue", "--noheader", "--array", f"--states={state}", "--format=%i").split()

    def _daemon(self, name: str, *options: str) -> None:
        environment = self.environment | {"SLURM_CONF": f"{self.folder}/slurm.conf"}
        with (self.folder / f"{name}.out").open("ab") as out:
            process = subprocess.Popen(
                [name, *options], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, cwd=self.folder
            )
        self._running[name].append(process)

    def _end(self, name: str) -> None:
        processes = self._running.pop(name, [])
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _wrap_commands(self) -> None:
        # Snakemake takes SLURM_CONF from the environment of the jobs, in which its `srun` has to find this cluster.
        for name in COMMANDS:
            wrapper = self.folder / "bin" / name
            program = shutil.which(name, path=_path())
            wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {program} "$@"\n')
            wrapper.chmod(0o755)

    def _configuration(self) -> str:
        control_port, daemon_port = _free_ports(2)
        return TEMPLATE.format(
            user=getpass.getuser(), host=socket.gethostname(), control_port=control_port, daemon_port=daemon_port,
            folder=self.folder, node=NODE, cpus=os.cpu_count(), memory_mb=_memory_mb(),
        )  # fmt: skip


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _memory_mb() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 * 9 // 10


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def wait(ready: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + START_S
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {START_S:g} s for {what}")
        time.sleep(0.05)


@contextlib.contextmanager
def running(kind: type[Cluster] = Cluster) -> Iterator[Cluster]:
    """Return a cluster that is up, and end it."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        cluster = kind(Path(folder))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


def main() -> int:
    """Run a command while a cluster is up."""
    reason = missing()
    if reason is not None:
        print(reason, file=sys.stderr)
        return 1
    with running() as cluster:
        return subprocess.run(sys.argv[1:], env=cluster.environment).returncode


if __name__ == "__main__":
    sys.exit(main())
