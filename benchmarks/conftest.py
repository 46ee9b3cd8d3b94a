"""One core and one BLAS thread for all that pytest runs here: XLA and BLAS share the process."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from benchmarks.cores import pinned_to_one_core


@pytest.fixture(scope="session", autouse=True)
def one_core() -> Iterator[None]:
    with threadpool_limits(1), pinned_to_one_core():
        yield
