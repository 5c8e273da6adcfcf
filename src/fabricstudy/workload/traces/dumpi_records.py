"""Records of DUMPI files.

A file has a stream of records, header, footer, a table of the sizes of datatypes, and an index of their offsets; all
numbers are big-endian. A record is the number of its function, a mask of what follows, thread, CPU and wall-clock
times, performance counters, and the arguments of the call.

References
----------
Sandia National Laboratories: SST DUMPI trace library, dumpi/common/iodefs.h and dumpiio.c, formats 0.6.6 to 1.1.
"""

import re
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from fabricstudy.core.input_files import InputFileError

from .mpi import Clock

HEADER = 0xFFAADD44554D5049
_STATUSES, _CPU_TIMES, _WALL_TIMES, _THREAD, _COUNTERS = 3, 4, 8, 64, 128
CLOCKS: tuple[Clock, ...] = ("cpu", "wall")
"""Clocks, in the order of a record."""

_OLDEST = (0, 6, 6)
END_OF_STREAM = 282
"""Sentinels and, behind it, entries of functions that are not of MPI."""

DAMAGED = (struct.error, IndexError, OverflowError, ValueError)
"""What a damaged file raises."""

# The arguments of each function: i 32 bits, h 16, b 8, q 64; I and H arrays with their length before, J an array of
# arrays, s text, S statuses, A texts. What follows a bar is there at the root alone; - no arguments.
_LAYOUTS = """
Send ihiih, Recv ihiihS, Get_count Shi, Bsend ihiih, Ssend ihiih, Rsend ihiih, Buffer_attach i, Buffer_detach i,
Isend ihiihi, Ibsend ihiihi, Issend ihiihi, Irsend ihiihi, Irecv ihiihi, Wait iS, Test iiS, Request_free i,
Waitany iIiS, Testany iIiiS, Waitall iIS, Testall iIiS, Waitsome iIiIS, Testsome iIiIS, Iprobe iihiS, Probe iihS,
Cancel i, Test_cancelled Si, Send_init ihiihi, Bsend_init ihiihi, Ssend_init ihiihi, Rsend_init ihiihi,
Recv_init ihiihi, Start i, Startall iI, Sendrecv ihiiihiihS, Sendrecv_replace ihiiiihS, Type_contiguous ihh,
Type_vector iiihh, Type_hvector iiihh, Type_indexed iIIhh, Type_hindexed iIIhh, Type_struct iIIHh, Address i,
Type_extent hi, Type_size hi, Type_lb hi, Type_ub hi, Type_commit h, Type_free h, Get_elements Shi, Pack ihiiih,
Unpack iiiihh, Pack_size ihhi, Barrier h, Bcast ihih, Gather iihih|ih, Gatherv iiihih|II;h, Scatter iihih|ih,
Scatterv iihihih|II, Allgather ihihh, Allgatherv iihIIhh, Alltoall ihihh, Alltoallv iIIhIIhh, Reduce ihbih,
Op_create ib, Op_free b, Allreduce ihbh, Reduce_scatter iIhbh, Scan ihbh, Group_size hi, Group_rank hi,
Group_translate_ranks hiIhI, Group_compare hhb, Comm_group hh, Group_union hhh, Group_intersection hhh,
Group_difference hhh, Group_incl hiIh, Group_excl hiIh, Group_range_incl hiJh, Group_range_excl hiJh, Group_free h,
Comm_size hi, Comm_rank hi, Comm_compare hhb, Comm_dup hh, Comm_create hhh, Comm_split hiih, Comm_free h,
Comm_test_inter hi, Comm_remote_size hi, Comm_remote_group hh, Intercomm_create hihiih, Intercomm_merge hih,
Keyval_create h, Keyval_free h, Attr_put hi, Attr_get hii, Attr_delete hi, Topo_test hb, Cart_create hiIIih,
Dims_create iiII, Graph_create ihiIIih, Graphdims_get hii, Graph_get iihiiII, Cartdim_get hi, Cart_get ihiIII,
Cart_rank ihIi, Cart_coords ihiiI, Graph_neighbors_count hii, Graph_neighbors ihiiI, Cart_shift hiiii, Cart_sub ihIh,
Cart_map ihiIIi, Graph_map ihiIIi, Get_processor_name si, Get_version ii, Errhandler_create h, Errhandler_set hh,
Errhandler_get hh, Errhandler_free h, Error_string isi, Error_class ii, Wtime -, Wtick -, Init A, Finalize -,
Initialized i, Abort hi
"""
LAYOUT_OF = dict(enumerate(tuple(entry.split()) for entry in _LAYOUTS.split(",")))
LAYOUT_OF |= {167: ("Comm_set_name", "hs"), 171: ("Init_thread", "Abb"), 173: ("Query_thread", "b"),
               178: ("Type_dup", "hh"), 198: ("Comm_set_errhandler", "hh"), 202: ("Finalized", "i"),
               204: ("Get_address", "i"), 224: ("Type_get_extent", "hii")}  # fmt: skip
_FIXED = re.compile("[ihbq]+|.")
_ROOT = {"Gather": 3, "Gatherv": 4, "Scatter": 3, "Scatterv": 5}
_CHANGED = {"Type_struct": (0, 6, 9), "Cart_get": (0, 6, 8)}
"""Calls whose records had another layout before a version."""

_SIZES = (0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 0, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20)
"""Bytes of the datatypes of MPI, where the trace has no table."""


class Call(NamedTuple):
    name: str
    start_ns: int
    stop_ns: int
    arguments: list[Any]


class File:
    """The file of one rank."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        index = struct.unpack(">8Q", data[-64:]) if len(data) > 64 else ()
        if not index or index[0] != HEADER or struct.unpack_from(">Q", data)[0] != HEADER:
            problem = "no DUMPI trace of version 0.6.6 or later, or an incomplete one"
            raise InputFileError(problem, "let the traced program end with MPI_Finalize")
        _, sizes, _, counters, header, self.body, self.footer, _ = index
        self.version = tuple(self.take(header, "3B"))
        if self.version < _OLDEST:
            problem = f"DUMPI {'.'.join(map(str, self.version))}"
            raise InputFileError(problem, f"use traces of {'.'.join(map(str, _OLDEST))} or later")
        self.sizes = list(self.take(sizes + 4, f"{self.take(sizes, 'I')[0]}i") if sizes else _SIZES)
        self.counters = self.take(counters, "I")[0] if counters else 0

    def take(self, at: int, layout: str) -> tuple[int, ...]:
        return struct.unpack_from(f">{layout}", self.data, at)

    def calls(self, clock: Clock = "wall") -> Iterator[Call]:
        """Yield the calls in their order, with times of a clock."""
        first = CLOCKS.index(clock)
        offset_s, at = self.take(self.body, "ii")[first], self.body + 8
        while at < self.footer:
            number, mask = self.take(at, "HB")
            if number >= END_OF_STREAM:
                return
            if number not in LAYOUT_OF:
                raise InputFileError(f"the function {number} of DUMPI is not supported", "trace a program without it")
            name, layout = LAYOUT_OF[number]
            if self.version < _CHANGED.get(name, _OLDEST):
                raise InputFileError(f"MPI_{name} in DUMPI of an old version", "trace the program again")
            at += 3 + 2 * bool(mask & _THREAD)
            times = [12 * bool(mask & bit) for bit in (_CPU_TIMES, _WALL_TIMES)]
            if not times[first]:
                raise InputFileError(f"calls without times of the clock '{clock}'", "trace the program with them")
            start_s, start_ns, stop_s, stop_ns = self.take(at + sum(times[:first]), "HIHI")
            at += sum(times) + (1 + 16 * self.counters if mask & _COUNTERS else 0)
            arguments, at = self.arguments(name, layout, at, mask)
            yield Call(name, (start_s + offset_s) * 10**9 + start_ns, (stop_s + offset_s) * 10**9 + stop_ns, arguments)

    def arguments(self, name: str, layout: str, at: int, mask: int) -> tuple[list[Any], int]:
        """Return the arguments that begin at an offset, and the offset behind them."""
        everywhere, _, at_root = layout.strip("-").partition("|")
        values, at = self.values(everywhere, at, mask)
        of_root, _, last = at_root.partition(";")
        if of_root and values[0] == values[_ROOT[name]]:
            more, at = self.values(of_root, at, mask)
            values += more
        more, at = self.values(last, at, mask)
        return values + more, at

    def values(self, layout: str, at: int, mask: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        for part in _FIXED.findall(layout):
            if part[0] in "ihbq":
                values += self.take(at, part)
                at += struct.calcsize(f">{part}")
            elif part == "S":
                statuses, at = self.statuses(at) if mask & _STATUSES else ([], at)
                values.append(statuses)
            else:
                length, at = self.length(at, 4 if part in "JA" else struct.calcsize(f">{part.lower()}"))
                if part in "JA":
                    inner = ("I" if part == "J" else "s") * length
                    of_array, at = self.values(inner, at, mask)
                    values.append(of_array)
                    continue
                array = f"{length}s" if part == "s" else f"{length}{part.lower()}"
                taken = self.take(at, array)
                values.append(taken[0] if part == "s" else taken)
                at += struct.calcsize(f">{array}")
        return values, at

    def statuses(self, at: int) -> tuple[list[tuple[int, int]], int]:
        """Return sources and tags."""
        length, at = self.length(at, 14)
        fields = self.take(at, "iibbi" * length)
        return list(zip(fields[1::5], fields[4::5], strict=True)), at + 14 * length

    def length(self, at: int, item_bytes: int) -> tuple[int, int]:
        """Return the length of an array, and the offset behind it."""
        (length,) = self.take(at, "I")
        if length * item_bytes > len(self.data) - at:
            raise IndexError
        return length, at + 4
