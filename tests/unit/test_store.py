"""The store: whole or absent, one writer at a time, nothing of the dead in the way."""

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from fabricstudy.core.store import Store

ID = "pabcdef012345"


def put(store: Store, status: str = "done", fingerprint: str = "f", text: str = "x") -> None:
    with store.lock(ID), store.workspace(ID) as folder:
        (folder / "extra").write_text(text)
        store.keep(folder, {"point_id": ID, "status": status, "fingerprint": fingerprint})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "points", "point_id")


def test_what_was_kept_is_found(store: Store) -> None:
    assert store.record(ID) is None
    put(store)
    found = store.finished(ID, "f")
    assert found is not None and {"point_id": ID, "status": "done", "fingerprint": "f"}.items() <= found.items()
    assert store.folder(ID) == store.root / "ab" / ID


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_whoever_may_list_the_store_may_read_what_is_in_it(store: Store, mask: int) -> None:
    before = os.umask(mask)
    try:
        put(store)
    finally:
        os.umask(before)
    assert store.folder(ID).stat().st_mode & 0o777 == 0o777 & ~mask


@pytest.mark.parametrize("status", ["failed", "timeout", "out-of-memory"])
def test_what_might_end_otherwise_is_not_finished(store: Store, status: str) -> None:
    put(store, status=status)
    assert store.record(ID) is not None
    assert store.finished(ID, "f") is None


def test_other_code_means_not_finished(store: Store) -> None:
    put(store, fingerprint="old")
    assert store.finished(ID, "new") is None


def test_a_newer_one_replaces_the_old_as_a_whole(store: Store) -> None:
    put(store, text="old")
    put(store, text="new")
    assert (store.folder(ID) / "extra").read_text() == "new"
    assert [path.name for path in store.folder(ID).parent.iterdir()] == [ID]


@pytest.mark.parametrize(
    "text", ["", "{", '{"point_id": "p000000000000", "status": "done", "fingerprint": "f"}', "[]", "\xff"]
)
def test_a_damaged_record_counts_as_absent(store: Store, text: str) -> None:
    put(store)
    (store.folder(ID) / "record.json").write_text(text, encoding="latin-1")
    assert store.finished(ID, "f") is None


def test_a_workspace_goes_when_its_user_fails(store: Store) -> None:
    with pytest.raises(OSError), store.lock(ID), store.workspace(ID) as folder:
        (folder / "extra").write_text("half")
        raise OSError("disk full")
    assert list(store.folder(ID).parent.iterdir()) == []


def _hold(root: Path, ready: str) -> None:
    store = Store(root, "point_id")
    with store.lock(ID), store.workspace(ID) as folder:
        (folder / "extra").write_text("half")
        Path(ready).touch()
        time.sleep(60)


def test_the_lock_of_a_killed_process_is_free_and_its_leavings_are_swept(store: Store, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    holder = multiprocessing.get_context("spawn").Process(target=_hold, args=(store.root, str(ready)))
    holder.start()
    while not ready.exists():
        time.sleep(0.02)
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    assert list(store.folder(ID).parent.glob(f".{ID}-*"))
    with store.lock(ID):
        store.sweep(ID)
    assert list(store.folder(ID).parent.iterdir()) == []


def _append(root: Path, log: Path) -> None:
    store = Store(root, "point_id")
    for _ in range(20):
        with store.lock(ID):
            with log.open("a") as out:
                out.write("in ")
            with log.open("a") as out:
                out.write("out ")


def test_two_processes_never_hold_a_point_at_once(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append, args=(store.root, log)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert log.read_text() == "in out " * 60


def test_a_record_is_plain_json(store: Store) -> None:
    put(store)
    assert json.loads((store.folder(ID) / "record.json").read_text())["point_id"] == ID


def test_what_strayed_into_the_store_or_went_meanwhile_hides_nothing(store: Store) -> None:
    assert store.inodes() == {}
    put(store)
    (store.root / "note.txt").touch()
    (store.root / "00").symlink_to("gone")  # listed, and no longer there when it is looked into
    assert store.inodes() == {ID: store.folder(ID).stat().st_ino}
