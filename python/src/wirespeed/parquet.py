"""Reading of Parquet files, with errors that name the file and the cause."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .errors import Damaged, Foreign, NewerFormat

FORMAT_VERSION = 1
"""The newest format version of tables of results that this package reads."""

RUN_FORMAT_VERSION = 2
"""The newest format version of run directories that it reads."""

_VERSION_KEY = b"wirespeed.format_version"


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Reads one file, and nothing from its path: `congestion=bic` in the name of a folder is not a partition.

    Args:
        path: the file.
        columns: read these only; those that the file does not have are left out.

    Raises:
        FileNotFoundError: the file does not exist.
        Damaged: the file is not Parquet, or it is truncated.
    """
    with _opened(path) as file:
        # The program writes the metadata of the table into the Arrow schema only, where `read` does not look.
        return file.read(columns=columns).replace_schema_metadata(file.schema_arrow.metadata)


def read_schema(path: Path) -> pa.Schema:
    """The columns of a file, with their metadata.

    Raises:
        FileNotFoundError: the file does not exist.
        Damaged: the file is not Parquet, or it is truncated.
    """
    with _opened(path) as file:
        return file.schema_arrow


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    if not path.exists():
        raise FileNotFoundError(path)
    if not path.is_file():
        raise Damaged(path, "it is not a regular file")
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise Damaged(path, f"it is not a readable Parquet file: {error}") from error


def check_version(path: Path, schema: pa.Schema) -> None:
    """Checks the format version in the metadata of a file with results.

    Raises:
        Foreign: there is no version, so that wirespeed did not write it.
        NewerFormat: the version is newer than `FORMAT_VERSION`.
    """
    written = (schema.metadata or {}).get(_VERSION_KEY)
    if written is None or not written.isdigit():
        raise Foreign(path, "it has no format version of wirespeed, so that another program wrote it")
    if int(written) > FORMAT_VERSION:
        raise NewerFormat(path, newer(int(written), FORMAT_VERSION))


def with_version(table: pa.Table) -> pa.Table:
    """The table with the format version in its metadata."""
    return table.replace_schema_metadata({_VERSION_KEY: str(FORMAT_VERSION).encode()})


def newer(version: int, newest: int) -> str:
    """The reason why a file of this version is not read."""
    return f"it has format version {version}, and this package reads up to {newest}: update the package"
