"""Make the synthetic traces of the study `replay`: ``python make.py`` in this folder, with fabricstudy installed."""

from pathlib import Path

from fabricstudy.workload.matching import matched
from fabricstudy.workload.operations import RECEIVE, SEND
from fabricstudy.workload.traces import goal
from fabricstudy.workload.traces.mpi import Calls, Program


def sweep(
    rows: int = 4, columns: int = 4, blocks: int = 6, block_ns: float = 40_000, size_bytes: int = 20_000
) -> Program:
    """Sweep over a grid of ranks from two opposite corners, in blocks: receive two faces, compute, send two."""
    program = Program(rows * columns, lambda rank, line: "")
    for rank in range(rows * columns):
        calls, (row, column) = Calls(program, rank), divmod(rank, columns)

        def neighbours(step: int, row: int = row, column: int = column) -> list[int]:
            places = [(row + step, column), (row, column + step)]
            return [r * columns + c for r, c in places if 0 <= r < rows and 0 <= c < columns]

        for step in (1, -1):
            requests: list[int] = []
            for _ in range(blocks):
                for ahead in neighbours(-step):
                    calls.transfer(RECEIVE, ahead, size_bytes, step + 1)
                calls.compute(block_ns)
                # Sends are not waited for until the end of the sweep.
                for behind in neighbours(step):
                    requests.append(len(requests))
                    calls.transfer(SEND, behind, size_bytes, step + 1, requests[-1])
            calls.wait(requests)
    return program


def collectives(ranks: int = 16, rounds: int = 2) -> Program:
    """Transpose and reduce as spectral codes do: in each round MPI_Alltoall twice and MPI_Allreduce, as in MPICH."""
    program = Program(ranks, lambda rank, line: "")
    for rank in range(ranks):
        calls = Calls(program, rank)
        for _ in range(rounds):
            for name, size_bytes in (("alltoall", 10_000), ("alltoall", 10_000), ("allreduce", 200_000)):
                calls.compute(50_000)
                calls.collective(name, size_bytes)
    return program


if __name__ == "__main__":
    for make in (sweep, collectives):
        with Path(f"{make.__name__}.goal").open("w") as file:
            goal.write(matched(make().listing()), file)
