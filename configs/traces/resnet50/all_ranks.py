"""Write the recorded training step of one rank for all ranks: ``python all_ranks.py chakra.0.et OUT RANKS``.

In this trace the converter of Chakra has written only what a kernel waits for on the CPU. The order of the kernels of
each CUDA stream, and the events between streams, are added here as PyTorch and NCCL define them:

* the kernels of a stream follow each other, in the order of their numbers;
* a collective operation waits for all kernels of the stream of the computation with smaller numbers;
* the first kernel of that stream behind the last collective operation waits for all of them.

Control dependencies are left out: they are the calls of PyTorch, contradict the data dependencies, and name nodes that
are not in the file; Chakra's own feeder does not read them. So are dependencies that follow from others, and
attributes that are not read here.
"""

import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

KEPT = (b"is_cpu_op", b"comm_type", b"comm_size")


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def encoded(value: int) -> bytes:
    low = b""
    while value > 127:
        low, value = low + bytes([value & 127 | 128]), value >> 7
    return low + bytes([value])


def fields(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the number, the contents and all bytes of each field."""
    at = 0
    while at < len(data):
        begin, (key, at) = at, varint(data, at)
        first = at
        if key & 7 == 0:
            _, at = varint(data, at)
        elif key & 7 == 2:
            length, first = varint(data, at)
            at = first + length
        else:
            at += 8 if key & 7 == 1 else 4
        yield key >> 3, data[first:at], data[begin:at]


def numbers(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def messages(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        length, at = varint(data, at)
        yield data[at : at + length]
        at += length


def add_streams(needs: dict[int, set[int]], computing: list[int], collective: list[int]) -> None:
    """Add the order of two CUDA streams, and the events between them."""
    for stream in (computing, collective):
        for before, after in pairwise(stream):
            needs[after].add(before)
    for operation in collective:
        needs[operation].update(kernel for kernel in computing if kernel < operation)
    needs[next(kernel for kernel in computing if kernel > collective[-1])].add(collective[-1])


def reduced(needs: dict[int, set[int]]) -> dict[int, set[int]]:
    """Return the dependencies without those that follow from others."""
    before: dict[int, set[int]] = {}
    found = {}
    for number in TopologicalSorter(needs).static_order():
        further = set().union(*(before[need] for need in needs[number]))
        before[number], found[number] = needs[number] | further, needs[number] - further
    return found


def main(source: str, out: str, ranks: str) -> None:
    metadata, *nodes = messages(Path(source).read_bytes())
    needs, rest = dict[int, set[int]](), dict[int, bytes]()
    computing, collective = list[int](), list[int]()
    for node in nodes:
        parts = list(fields(node))
        number = next(next(numbers(of)) for field, of, _ in parts if field == 1)
        attributes = {next(iter(fields(of)))[1]: (of, whole) for field, of, whole in parts if field == 10}
        needs[number] = {need for field, of, _ in parts if field == 5 for need in numbers(of)}
        rest[number] = b"".join(whole for field, _, whole in parts if field in (1, 2, 3, 7))
        rest[number] += b"".join(attributes[name][1] for name in KEPT if name in attributes)
        if b"comm_type" in attributes:
            collective.append(number)
        elif list(fields(attributes[b"is_cpu_op"][0]))[1][1] == b"\0":
            computing.append(number)
    add_streams(needs, sorted(computing), sorted(collective))
    data = encoded(len(metadata)) + metadata
    for number, of in sorted(reduced(needs).items()):
        packed = b"".join(map(encoded, sorted(of)))
        node = rest[number] + (b"\x2a" + encoded(len(packed)) + packed if packed else b"")
        data += encoded(len(node)) + node
    for rank in range(int(ranks)):
        Path(f"{out}.{rank}.et").write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
