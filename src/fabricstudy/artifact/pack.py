"""Write the archive.

It is a gzipped tar: any Debian unpacks it with ``tar``, and Python 3.11 with `tarfile`; Zstandard is in neither
(Python reads it from 3.14 on, and Debian's ``tar`` needs the package zstd).
"""

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from fabricstudy.core.checkout import Checkout
from fabricstudy.core.files import atomic_path

from .checksums import CHECKSUMS, checksums
from .completed_study import ArtifactError, CompletedStudy
from .crate import CRATE_METADATA, metadata
from .documents import documents

# 1 January 2000; GNU tar warns of files from 1970.
TIME_S = 946_684_800


def pack(run: CompletedStudy, code: Checkout, out: Path) -> None:
    """Write the artifact of a completed study to `out`; a reader sees the complete archive or none.

    Raises ArtifactError if the code has no Makefile, or the study names a file outside its folder.
    """
    sources = {f"code/{path}": (content, program) for path, content, program in code.files()}
    if "code/Makefile" not in sources:
        raise ArtifactError(f"{code.root}: there is no Makefile, which sets the artifact up; run and pack from a clone")
    programs = {path for path, (_, program) in sources.items() if program}
    files = {path.relative_to(run.outputs.base).as_posix(): path for path in run.outputs.files()} | run.study_files()
    contents = {path: content for path, (content, _) in sources.items()}
    contents |= {name: path.read_bytes() for name, path in files.items()}
    contents |= documents(run, code, contents)
    contents[CRATE_METADATA] = metadata(run, code, contents)
    contents[CHECKSUMS] = checksums(contents)
    with atomic_path(out) as path:
        _write(path, f"{run.name}-artifact", contents, programs)


def _write(path: Path, top: str, contents: Mapping[str, bytes], programs: set[str]) -> None:
    with (
        path.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in sorted(contents.items()):
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size, member.mtime, member.mode = len(content), TIME_S, 0o755 if name in programs else 0o644
            archive.addfile(member, io.BytesIO(content))
