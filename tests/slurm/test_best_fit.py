"""Nodes of random jobs on a real Slurm with topology/tree, against those of the allocation `slurm`."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fabricstudy.core.host_lists import expanded
from fabricstudy.schedule.best_fit import SwitchTree, best_fit

from .cluster import Cluster, missing, running, wait

pytestmark = pytest.mark.slow

LEAVES = (6, 4, 5, 3, 6)
"""Nodes of each leaf switch, whose names are in their order."""
MIDDLE = {2: (0, 0, 0, 0, 0), 3: (0, 0, 1, 1, 1)}
"""Switch above each leaf, by number of levels."""
MIXES, STARTS = 20, 4


class TreeCluster(Cluster):
    """A cluster of nodes with a processor each, below a tree of switches."""

    levels = 2
    node_names = tuple(f"n{number:02}" for number in range(sum(LEAVES)))

    def _configuration(self) -> str:
        names = iter(self.node_names)
        lines = [
            f"SwitchName=leaf{leaf} Nodes={','.join(next(names) for _ in range(n))}" for leaf, n in enumerate(LEAVES)
        ]
        tops = [f"mid{number}" for number in sorted(set(MIDDLE[self.levels]))]
        for number, top in enumerate(tops):
            below = [f"leaf{leaf}" for leaf, middle in enumerate(MIDDLE[self.levels]) if middle == number]
            lines.append(f"SwitchName={top} Switches={','.join(below)}")
        lines += [f"SwitchName=root Switches={','.join(tops)}"] * (len(tops) > 1)
        (self.folder / "topology.conf").write_text("\n".join(lines) + "\n")
        written = super()._configuration()
        host = re.search(r"NodeHostname=(\S+)", written)
        first = int(str(self.free_port))
        assert host is not None
        ports = f"[{first}-{first + len(self.node_names) - 1}]"
        nodes = f"n[00-{len(self.node_names) - 1:02}]"
        written = re.sub(r"(?m)^NodeName=.*$", "", written.replace("Nodes=one", f"Nodes={nodes}"))
        for key in ("SlurmdSpoolDir", "SlurmdPidFile", "SlurmdLogFile"):
            written = re.sub(rf"(?m)^({key}=.*)$", r"\1.%n", written)
        written = written.replace("CR_Core_Memory", "CR_Core").replace("JobAcctGatherParams=OverMemoryKill", "")
        return (
            f"{written}\nTopologyPlugin=topology/tree\nSlurmdParameters=config_overrides\n"
            f"NodeName={nodes} NodeHostname={host[1]} NodeAddr=127.0.0.1 Port={ports} CPUs=1 RealMemory=1\n"
        )

    @property
    def free_port(self) -> int:
        return random.Random(str(self.folder)).randrange(20000, 30000)

    def resume(self) -> None:
        """Nothing: no test drains these nodes."""


class ThreeLevels(TreeCluster):
    """Two switches below the root."""

    levels = 3


@pytest.fixture(scope="module", params=[TreeCluster, ThreeLevels])
def cluster(request: pytest.FixtureRequest) -> Iterator[TreeCluster]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with running(request.param) as found:
        assert isinstance(found, TreeCluster)
        yield found


def nodes_of(cluster: Cluster, job: str) -> list[int]:
    """Return the nodes of a running job, once it has some."""

    def names() -> str:
        return cluster.ask("squeue", "--noheader", f"--jobs={job}", "--states=RUNNING", "--format=%N")

    wait(lambda: bool(names()), f"job {job}")
    return [int(name[1:]) for name in expanded(names())]


def has_ended(cluster: Cluster, jobs: list[str]) -> bool:
    return not set(jobs) & set(cluster.ask("squeue", "--noheader", "--format=%i").split())


def test_the_nodes_of_random_mixes_are_those_of_slurm(cluster: TreeCluster, tmp_path: Path) -> None:
    leaf = np.repeat(np.arange(len(LEAVES)), LEAVES)
    tree = SwitchTree(leaf, np.array([range(len(LEAVES)), MIDDLE[cluster.levels]][: cluster.levels - 1]))
    rng = random.Random(cluster.levels)
    free, jobs = np.ones(len(leaf), dtype=np.bool_), dict[str, list[int]]()
    different: list[object] = []
    for _ in range(MIXES):
        ended = rng.sample(sorted(jobs), rng.randint(0, len(jobs)))
        if ended:
            cluster.ask("scancel", *ended)
            wait(partial(has_ended, cluster, ended), "the end of jobs")
        for job in ended:
            free[jobs.pop(job)] = True
        for _ in range(STARTS):
            left = int(np.count_nonzero(free))
            if not left:
                break
            wanted = min(left, rng.choice([1, 2, 3, 4, 5, 6, 7, 9, 12]))
            expected = best_fit(tree, free, wanted).tolist()
            output = ("--output=/dev/null", f"--chdir={tmp_path}")
            job = cluster.ask("sbatch", "--parsable", f"--nodes={wanted}", *output, "--wrap=sleep 900")
            assert job
            jobs[job] = nodes_of(cluster, job)
            if jobs[job] != expected:
                different.append((wanted, np.flatnonzero(free).tolist(), jobs[job], expected))
            free[jobs[job]] = False
    assert not different
