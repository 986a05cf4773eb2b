"""One guest server for the whole folder."""

from collections.abc import Iterator

import pytest

from tests.guest_api.harness import GuestServer


@pytest.fixture(scope="session")
def guests() -> Iterator[GuestServer]:
    server = GuestServer()
    yield server
    server.close()
