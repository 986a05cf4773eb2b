"""One open host in a thread of its own, for tests that need nothing but a host: its template is warm after the first."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import trio

from child_agents.records import RunRecords
from runtime import open_host


class SharedHost:
    """Runs programs for plain (not async) tests; close it at the end."""

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        self.folder = folder
        self._config = config
        self._is_open = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=[self._main])
        self._thread.start()
        assert self._is_open.wait(60)

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._closed = trio.Event()
        async with open_host(self._config, cwd=self.folder) as self._host:
            self._is_open.set()
            await self._closed.wait()

    def run(self, source: str, value: Any = None) -> Any:
        """The result of a program."""
        return trio.from_thread.run(self._host.run_program, source, value, trio_token=self._token)

    @property
    def records(self) -> RunRecords:
        """Of its runs."""
        return self._host.agents.records

    def close(self) -> None:
        """End it; nothing is left."""
        self._call(self._closed.set)
        self._thread.join()

    def _call(self, function: Callable[[], None]) -> None:
        trio.from_thread.run_sync(function, trio_token=self._token)
