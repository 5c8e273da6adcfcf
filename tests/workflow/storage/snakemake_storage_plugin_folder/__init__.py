"""A storage plugin of Snakemake: files are copied from and to another folder, as a storage elsewhere would be used."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from snakemake_interface_storage_plugins.io import IOCacheStorageInterface
from snakemake_interface_storage_plugins.storage_object import StorageObjectRead, StorageObjectWrite
from snakemake_interface_storage_plugins.storage_provider import (
    ExampleQuery,
    Operation,
    QueryType,
    StorageProviderBase,
    StorageQueryValidationResult,
)  # fmt: skip


class StorageProvider(StorageProviderBase):  # type: ignore[misc]
    @classmethod
    def example_queries(cls) -> list[ExampleQuery]:
        return [ExampleQuery("shelf/a.txt", "a path", QueryType.ANY)]

    def rate_limiter_key(self, query: str, operation: Operation) -> Any:
        return None

    def default_max_requests_per_second(self) -> float:
        return 100.0

    def use_rate_limiter(self) -> bool:
        return False

    @classmethod
    def is_valid_query(cls, query: str) -> StorageQueryValidationResult:
        return StorageQueryValidationResult(query, valid=not Path(query).is_absolute())


class StorageObject(StorageObjectRead, StorageObjectWrite):  # type: ignore[misc]
    def local_suffix(self) -> str:
        return str(self.query)

    async def inventory(self, cache: IOCacheStorageInterface) -> None:
        """Leave the cache empty: nothing comes for free."""

    def get_inventory_parent(self) -> None:
        return None

    def cleanup(self) -> None:
        """Keep everything."""

    def exists(self) -> bool:
        return Path(self.query).exists()

    def mtime(self) -> float:
        return Path(self.query).stat().st_mtime

    def size(self) -> int:
        return Path(self.query).stat().st_size

    def retrieve_object(self) -> None:
        shutil.copy2(self.query, self.local_path())

    def store_object(self) -> None:
        Path(self.query).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.local_path(), self.query)

    def remove(self) -> None:
        Path(self.query).unlink()

    def list_candidate_matches(self) -> Iterable[str]:
        return []
