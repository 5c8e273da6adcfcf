"""GOAL in binary, as ``txt2bin`` of LogGOPSim and ATLAHS writes it for their simulators.

A file has a magic number, the number of ranks, the largest stream and interface, and the start and end offsets of each
rank. A rank has the count of its operations and of those without dependencies, the list of the latter, a record for
each operation, and the lists of the operations that wait for its end and for its start. All numbers are little-endian.

References
----------
Hoefler, Schneider and Lumsdaine: LogGOPSim. HPDC 2010, doi:10.1145/1851476.1851564.
Shen et al.: ATLAHS: an application-centric network simulator toolchain. SC 2025, doi:10.1145/3712285.3759881.
"""

import struct

import numpy as np

from fabricstudy.core.arrays import Array, Ints
from fabricstudy.core.input_files import MAX_RANKS, InputFileError

from ..matching import ANY, Listing
from ..operations import CALC, ENDED, RECEIVE, SEND, STARTED

SIGN = rb"(?s:[\x7f\x26][\x10\x09]\x00{6})"
"""First bytes, as a pattern: the numbers 4223, or 2342 after a simulation that saved memory."""

_USED = 2342
_HEAD, _BEGIN = struct.Struct("<QIBB"), 8
"""What precedes the offsets, which count from byte 8."""

_RECORD = np.dtype([
    ("waits", "<u4"), ("kind", "i1"), ("peer", "<u4"), ("size", "<u8"), ("tag", "<u4"), ("stream", "u1"), ("nic", "u1"),
    ("enders", "<u4"), ("first_ender", "<u4"), ("starters", "<u4"), ("first_starter", "<u4"),
])  # fmt: skip
_KINDS = {1: SEND, 2: RECEIVE, 3: CALC}
_ANY = 2**32 - 1


def read(data: bytes) -> Listing:
    """Parse binary GOAL; raises InputFileError, with the rank."""
    if len(data) < _HEAD.size:
        raise InputFileError("the file ends too early", "write it again with txt2bin")
    sign, ranks, _, _ = _HEAD.unpack_from(data)
    if sign == _USED:
        raise InputFileError("changed by a simulation that saved memory", "write it again with txt2bin")
    if not 1 <= ranks <= min(MAX_RANKS, (len(data) - _HEAD.size) // 16):
        raise InputFileError("more ranks than the file has offsets", "write it again with txt2bin", "", ranks)
    offsets = np.frombuffer(data, "<u8", 2 * ranks, _HEAD.size).reshape(ranks, 2)
    records, waits, first = list[Array](), list[Ints](), [0]
    for rank, (begin, end) in enumerate(offsets.tolist()):
        try:
            of_rank, of_waits = _rank(data[_BEGIN + begin : _BEGIN + end], rank)
        except (struct.error, ValueError):
            raise InputFileError("a damaged part", "write it again with txt2bin", f"rank {rank}") from None
        records.append(of_rank)
        waits.append(of_waits + np.array([[first[-1]], [first[-1]], [0]]))
        first.append(first[-1] + len(of_rank))
    record, (dependent, needs, when) = np.concatenate(records), np.concatenate(waits, axis=1)
    kind = np.select([record["kind"] == number for number in _KINDS], list(_KINDS.values()), -1)
    is_calc, rank_of = kind == CALC, np.repeat(np.arange(ranks), np.diff(first))
    size = np.minimum(record["size"], 2**63 - 1).astype(np.int64)
    peer, tag = (
        np.where(is_calc | (record[name] == _ANY), ANY, record[name].astype(np.int64)) for name in ("peer", "tag")
    )
    return Listing(
        ranks, rank_of.astype(np.int32), record["stream"].astype(np.int32), kind.astype(np.int8),
        np.where(is_calc, size, 0).astype(np.float64), np.where(is_calc, 0, size), peer, tag, dependent, needs,
        when.astype(np.int8), lambda at: f"rank {rank_of[at]}, operation {at - first[int(rank_of[at])]}",
    )  # fmt: skip


def _rank(data: bytes, rank: int) -> tuple[Array, Ints]:
    """Return the records of a rank, and operation, needed one and event of each of its dependencies."""
    count, independent = struct.unpack_from("<II", data)
    begin = 8 + 4 * independent
    records = np.frombuffer(data, _RECORD, count, begin)
    end = begin + records.nbytes
    listed = np.frombuffer(data, "<u4", (len(data) - end) // 4, end).astype(np.int64)
    parts = [
        _dependencies(listed, records[f"{name}s"].astype(np.int64), records[f"first_{name}"].astype(np.int64), when)
        for name, when in (("ender", ENDED), ("starter", STARTED))
    ]
    waits = np.concatenate(parts, axis=1)
    if not np.array_equal(np.bincount(waits[0], minlength=count), records["waits"]):
        raise InputFileError("dependencies that no operation counts", "write it again with txt2bin", f"rank {rank}")
    return records, waits


def _dependencies(listed: Ints, counts: Ints, first: Ints, when: int) -> Ints:
    """Return operation, needed one and event of the dependencies on each operation, int64 [3, dependencies]."""
    if counts.sum() > len(listed):
        raise ValueError
    needed = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(needed)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    if len(position) and (position.max() >= len(listed) or listed[position].max() >= len(counts)):
        raise ValueError
    return np.stack([listed[position], needed, np.full(len(needed), when)])
