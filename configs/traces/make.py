"""Make the traces of the study `replay`: ``python make.py`` in this folder, with fabricstudy installed.

All are synthetic: the programs were written for this study, not traced.
"""

from pathlib import Path

from fabricstudy.workload.matching import matched
from fabricstudy.workload.operations import CALC, ENDED, RECEIVE, SEND
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


def training(ranks: int = 8, layers: int = 4, forward_ns: float = 60_000, bucket_bytes: int = 100_000) -> Program:
    """Train one step on parts of the data: a layer's gradients go around a ring beside the computation of the next."""
    program = Program(ranks, lambda rank, line: "")

    def add(rank: int, kind: int, needs: list[int], time_ns: float = 0.0, peer: int = 0, tag: int = 0) -> int:
        size_bytes = 0 if kind == CALC else bucket_bytes // ranks
        operation = program.add(rank, 0, kind, time_ns, size_bytes, peer, tag)
        program.wait(operation, [(needed, ENDED) for needed in needs])
        return operation

    for rank in range(ranks):
        gradients = add(rank, CALC, [], layers * forward_ns)
        reduced: list[int] = []
        for layer in range(layers):
            gradients = add(rank, CALC, [gradients], 2 * forward_ns)
            ready = [gradients, *reduced]
            for step in range(2 * (ranks - 1)):
                tag = layer * 2 * ranks + step
                send = add(rank, SEND, ready, peer=(rank + 1) % ranks, tag=tag)
                ready = [send, add(rank, RECEIVE, ready, peer=(rank - 1) % ranks, tag=tag)]
            reduced = ready
        add(rank, CALC, [gradients, *reduced], forward_ns)
    return program


if __name__ == "__main__":
    for make in (sweep, collectives, training):
        with Path(f"{make.__name__}.goal").open("w") as file:
            goal.write(matched(make().listing()), file)
