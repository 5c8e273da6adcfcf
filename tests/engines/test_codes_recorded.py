"""Reading what CODES wrote, from recorded outputs; needs no simulator."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.codes.adapter import Codes
from fabricstudy.engine.codes.files import HOPS, OUTPUTS
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import BackgroundMismatch, EngineFailure
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.structure.bound import load_time_ns
from fabricstudy.structure.load import link_loads

from .run_caminos import ends
from .run_codes import RECORDED, RECORDED_NAMES, point, two_jobs

TRAFFIC = {
    "dragonfly": "dragonfly-router-traffic-sample",
    "hyperx": "router-traffic",
    "tree": "fattree-switch-traffic",
    "slim fly": "slimfly-router-traffic",
}


def read(folder: Path, name: str, exit_code: int = 0) -> EngineResult:
    """Read the outputs in a folder as those of a recorded point."""
    this = point(name)
    machine = this.machine.build()
    return Engine(Codes).result(BuiltPoint(this, machine, two_jobs(machine)), folder, exit_code)


def recorded(name: str) -> Path:
    """Folder of a recorded point."""
    return RECORDED / name.replace(" ", "-")


@pytest.mark.parametrize("name", RECORDED_NAMES)
def test_times_links_and_jobs(name: str) -> None:
    this = point(name)
    machine = this.machine.build()
    jobs = two_jobs(machine)
    result = read(recorded(name), name)
    loads = [link_loads(machine, *ends([job]), this.routing) for job in jobs]
    for time, mean, load in zip(result.job_runtime_ns, result.job_rank_mean_ns, loads, strict=True):
        assert time is not None and load_time_ns(machine, load) <= time < 10 * load_time_ns(machine, load)
        assert mean is not None and 0.5 * time < mean < time
    if name == "torus":
        assert result.link_bytes is None and result.job_link_packets is None and result.link_packets is None
        return
    assert result.link_bytes is not None and result.job_link_packets is not None
    np.testing.assert_array_equal(result.link_bytes, sum(load.link_bytes for load in loads))
    np.testing.assert_array_equal(result.job_link_packets > 0, [load.link_bytes > 0 for load in loads])
    # Packets of several sizes: only a list of hops tells how many there were.
    assert (result.link_packets is not None) == (name == "dragonfly") and result.link_stall_ns is None
    if result.link_packets is not None:
        source, destination, size = ends(jobs)
        packets = link_loads(machine, source, destination, -(-size // 2000), this.routing).link_bytes
        np.testing.assert_array_equal(result.link_packets, packets)


def test_the_mean_time_of_ranks_that_send_is_of_the_run_of_all_jobs() -> None:
    lines = (recorded("slim fly") / "stdout").read_text().splitlines()
    # Both jobs run once together, then each by itself.
    together = [line for line in lines if " finished at " in line][:50]
    ends_of_job = [[float(line.split()[-1]) for line in together if f" App {job} " in line] for job in (0, 1)]
    assert [len(of_job) for of_job in ends_of_job] == [25, 25]
    means = read(recorded("slim fly"), "slim fly").job_rank_mean_ns
    assert means == tuple(pytest.approx(np.mean(of_job)) for of_job in ends_of_job)


class TestBackground:
    """A recorded run of two jobs, read as if one of them had been in the background."""

    END_NS = 29103.318885
    """When the last rank of the second job ended; all senders of the first one ended later."""

    def read(self, number: int, lasts_ns: float, folder: Path | None = None) -> EngineResult:
        this = point("torus")
        machine = this.machine.build()
        jobs = [
            replace(job, background_duration_ns=lasts_ns) if at == number else job
            for at, job in enumerate(two_jobs(machine))
        ]
        return Engine(Codes).result(BuiltPoint(this, machine, jobs), folder or recorded("torus"), 0)

    @pytest.mark.parametrize("lasts_ns", [0.5 * END_NS, END_NS, 1.01 * END_NS + 9])
    def test_it_lasts_as_long_as_the_others_and_has_no_time(self, lasts_ns: float) -> None:
        first, second = self.read(0, lasts_ns).job_runtime_ns
        assert first is None and second == pytest.approx(self.END_NS)

    def test_one_that_outlasts_the_others_is_run_again_to_their_end(self) -> None:
        with pytest.raises(BackgroundMismatch) as asked:
            self.read(0, 1.01 * self.END_NS + 11)
        assert asked.value.needed_ns == 29105

    def test_where_a_rank_of_the_others_did_not_end_it_lasts_longer_next_time(self, tmp_path: Path) -> None:
        run = shutil.copytree(recorded("torus"), tmp_path / "run")
        text = (run / "stdout").read_text()
        (run / "stdout").write_text(re.sub(r"(Rank \d+ App 1) finished at", r"\1 goes on from", text, count=1))
        with pytest.raises(BackgroundMismatch) as asked:
            self.read(0, 5000.0, run)
        assert asked.value.needed_ns == 20_000

    def test_one_that_had_enough_to_send_and_ended_before_the_others_is_no_result(self) -> None:
        with pytest.raises(EngineFailure, match="ended before the others"):
            self.read(1, 2 * self.END_NS)


class TestDamaged:
    """A recorded run that is damaged in one place is no result, and the reason is said."""

    def broken(self, folder: Path, file: str, change: Callable[[str], str], name: str = "dragonfly") -> str:
        copy = folder / "run"
        shutil.copytree(recorded(name), copy)
        old = (copy / file).read_text()
        new = change(old)
        assert new != old
        (copy / file).write_text(new)
        with pytest.raises(EngineFailure) as failure:
            read(copy, name)
        return str(failure.value)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda s: re.sub(r"App 0: [0-9.]+", "App 0: nan", s, count=1), "wrote the times"),
            (lambda s: re.sub(r"App 1: [0-9.]+", "App 1: 0.0000", s, count=1), "wrote the times"),
            (lambda s: re.sub(r"\tApp 1: .*\n", "", s, count=1), "wrote the times"),
            (lambda s: s.replace("finished at", "stopped at", 1), "20 ranks were to finish, and 19 did"),
            (lambda s: s + "\n nw-id 3 unmatched irecvs 1 unmatched sends 0 Total", "unmatched messages: nw-id 3"),
            (lambda s: s + "\n LP 5 leftover pending messages ", "unmatched messages"),
            (lambda s: s + "\nNIC seq delay not specified, setting to 10.000000", "did not use a setting: NIC"),
            (lambda s: "", "to run 1 times, and ran 0"),
        ],
    )
    def test_what_it_says(self, tmp_path: Path, change: Callable[[str], str], said: str) -> None:
        assert said in self.broken(tmp_path, "stdout", change)

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("Warning: unmatched send and receive operations found.", "unmatched messages: Warning"),
            ("No routing protocol specified, setting to minimal routing", "did not use a setting"),
            ('mkdir("lpio") failed: File exists', "did not write its outputs"),
        ],
    )
    def test_what_it_says_on_standard_error(self, tmp_path: Path, line: str, said: str) -> None:
        assert said in self.broken(tmp_path, "stderr", lambda text: text + line + "\n")

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda s: s.replace(" 3500 ", " 3501 ").replace(" 6000 ", " 6001 "), "has sent"),
            (lambda s: "\n".join(s.splitlines()[:-1]), "has sent"),
            (lambda s: "\n".join(row.rsplit(" ", 1)[0] for row in s.splitlines()), "has 12 columns, not 13"),
            (lambda s: s.replace(" 0 ", " zero "), "not a table of numbers"),
            (lambda s: s[:-20], "not a table of numbers"),
        ],
    )
    def test_ranks(self, tmp_path: Path, change: Callable[[str], str], said: str) -> None:
        assert said in self.broken(tmp_path, f"{OUTPUTS}/mpi-replay-stats", change)

    @pytest.mark.parametrize("name", list(TRAFFIC))
    def test_ports_of_another_machine(self, tmp_path: Path, name: str) -> None:
        file = f"{OUTPUTS}/{TRAFFIC[name]}"
        assert "another machine" in self.broken(tmp_path, file, lambda s: "\n".join(s.splitlines()[:-1]), name)

    def test_a_run_alone_that_is_missing(self, tmp_path: Path) -> None:
        last = self.broken(tmp_path, "stdout", lambda s: s[: s.rindex("ROSS Version")], "tree")
        assert "to run 3 times, and ran 2" in last

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda s: "\n".join(s.splitlines()[:-3]), "the list of hops does not sum up to"),
            (lambda s: s.replace(",2000,2000,", ",1999,2000,", 1), "the list of hops does not sum up to"),
            (lambda s: s.replace("\n0,", "\nx,", 1), "is no list of hops"),
            (lambda s: s.replace("\n0,", "\n99,", 1), "is no list of hops"),
            (lambda s: "\n".join(row.rsplit(",", 1)[0] for row in s.splitlines()), "is no list of hops"),
        ],
    )
    def test_hops(self, tmp_path: Path, change: Callable[[str], str], said: str) -> None:
        assert said in self.broken(tmp_path, f"{HOPS}/router-timing-gid=0.txt", change)

    def test_bytes_that_no_job_sent(self, tmp_path: Path) -> None:
        file = f"{OUTPUTS}/{TRAFFIC['tree']}"
        assert "does not sum up to" in self.broken(tmp_path, file, lambda s: s.replace(" 3000 ", " 3001 ", 1), "tree")

    def test_files_that_are_missing(self, tmp_path: Path) -> None:
        for file in ("mpi-replay-stats", TRAFFIC["dragonfly"]):
            copy = tmp_path / file
            shutil.copytree(recorded("dragonfly"), copy)
            (copy / OUTPUTS / file).unlink()
            with pytest.raises(EngineFailure, match=f"did not write {file}"):
                read(copy, "dragonfly")

    def test_the_reason_is_said_and_not_the_end(self, tmp_path: Path) -> None:
        (tmp_path / "stdout").write_text("config\nnode: 0: error: ross-inline.h:87: No free event buffers.\n")
        (tmp_path / "stderr").write_text("Abort(1) on node 0 (rank 0 in comm 0): application called MPI_Abort\n")
        with pytest.raises(EngineFailure, match=r"CODES ended with 1: node: 0: error: .* No free event buffers"):
            read(tmp_path, "tree", 1)

    @pytest.mark.parametrize("exit_code", [255, -11, 1])
    def test_an_exit_code_is_a_failure(self, tmp_path: Path, exit_code: int) -> None:
        (tmp_path / "stdout").write_text("config\nError: unable to open DUMPI trace: traces/1-0001.bin\n")
        (tmp_path / "stderr").write_text("")
        with pytest.raises(EngineFailure, match=f"CODES ended with {exit_code}: Error: unable to open"):
            read(tmp_path, "tree", exit_code)

    def test_a_port_counter_that_is_too_small(self, tmp_path: Path) -> None:
        # It writes 32 bits of a dragonfly's bytes: what may not fit is not told, rather than told wrongly.
        shutil.copytree(recorded("dragonfly"), tmp_path / "run")
        file = tmp_path / "run" / OUTPUTS / TRAFFIC["dragonfly"]
        counted = np.array([row.split()[4:] for row in file.read_text().splitlines()[1:] if row.strip()], dtype=float)
        most = int(counted.max())
        file.write_text(file.read_text().replace(f" {most}", f" {most - 2**32}"))
        result, whole = read(tmp_path / "run", "dragonfly"), read(recorded("dragonfly"), "dragonfly")
        assert result.link_bytes is not None and whole.link_bytes is not None
        np.testing.assert_array_equal(result.link_bytes, whole.link_bytes)
