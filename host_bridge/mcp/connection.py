"""One server in a task of its own: started when wanted, restarted with growing pauses, never in a caller's way.

A call waits here for the server, sends its request from the server's own task, and leaves at its deadline whatever the
server does. How a server dies reaches the calls that were under way as a typed failure, and nobody else.
"""

import math
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import trio

from host_bridge.errors import HandlerError
from host_bridge.mcp.dialling import connected, load_sdk
from host_bridge.mcp.manifest import Manifest
from host_bridge.mcp.settings import ServerSettings

if TYPE_CHECKING:
    from host_bridge.mcp.client import McpClient

FIRST_PAUSE_SECONDS: Final = 0.25
LONGEST_PAUSE_SECONDS: Final = 60.0
PATIENCE_SECONDS: Final = 2.0
"""A caller waits out a pause this long; a longer one is told to it at once."""
STEADY_SECONDS: Final = 30.0
"""A server that lived this long starts afresh with a short pause."""
TOO_LONG: Final = ("answered with more than", "exceeded the")
"""How our bounded transports and the SDK's event reader say that an answer was cut off."""

CLOSING_SECONDS: Final = 5.0
"""For a server over HTTP to take leave; one that hangs must not hold up the host."""

State: TypeAlias = Literal["idle", "starting", "ready", "ending", "failed", "stopped", "disabled"]


@dataclass(slots=True)
class _Request:
    """One request on its way, in the server's task; its caller only waits for `done`."""

    send: Callable[["McpClient"], Awaitable[Any]]
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    done: trio.Event = field(default_factory=trio.Event)
    value: Any = None
    failure: Exception | None = None
    lost: bool = False


class ServerConnection:
    """The life of one configured server."""

    def __init__(
        self,
        name: str,
        settings: ServerSettings,
        *,
        learned: Callable[[Manifest], None],
        host_environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.settings = settings
        self.state: State = "disabled" if settings.disabled else "idle"
        self.error = ""
        """Why it is not there, in one sentence; empty while nothing went wrong."""
        self.starts = 0
        self.failures = 0
        """In a row; the pause before the next start grows with them."""
        self._learned = learned
        self._environment = os.environ if host_environment is None else host_environment
        self._changed = trio.Event()
        self._wanted = trio.Event()
        self._wake = trio.Event()
        self.ended = trio.Event()
        """Set once `run` is over and nothing of the server is left."""
        self._stop = trio.Event()
        self._closed = self._list_again = False
        """Why `_wake` was set, apart from `_stop`."""
        self._life: trio.CancelScope | None = None
        self._not_before = -math.inf
        self._calls: trio.Nursery | None = None
        self._client: McpClient | None = None
        self._running = False
        self._under_way = 0
        """Requests that were handed to the server's task and are not over."""
        self._leaving = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until `stop`. Failures of the server end here as a state, never as an exception."""
        self._running = True
        task_status.started()
        try:
            while not self._stop.is_set():
                await self._wanted.wait()
                with trio.move_on_at(self._not_before):
                    await self._stop.wait()
                if not self._stop.is_set():
                    await self._live()
        finally:
            self._running = False
            if self.state != "disabled":
                self._become("stopped")
            self.ended.set()

    def stop(self) -> None:
        """Ask the server to end; its calls fail. Other servers do not notice."""
        self._stop.set()
        self._wanted.set()
        self._wake.set()
        if self._life is not None:
            self._life.deadline = trio.current_time() + (0 if self.state == "starting" else CLOSING_SECONDS)

    async def request(self, send: Callable[["McpClient"], Awaitable[Any]], *, ref: str) -> Any:
        """Send one request, starting the server first if it has to be.

        A server over HTTP that was started anew has forgotten the session and refuses the request unread: then it is
        sent once more in a new session, as the protocol asks.

        Raises: HandlerError: the server cannot be started, it failed or died, or the deadline passed.
        """
        await self.ready(ref=ref)
        from host_bridge.mcp.client import RequestFailedError  # `ready` has seen to it that the SDK is loaded

        client = self._client
        try:
            return await self._sent(send, ref)
        except RequestFailedError as error:
            if not error.forgotten:
                raise HandlerError(f"{ref}: the server {self.name} refused or failed: {error}") from None
        await self._leave(client)
        await self.ready(ref=ref)
        try:
            return await self._sent(send, ref)
        except RequestFailedError as error:
            raise HandlerError(f"{ref}: the server {self.name} refused or failed: {error}") from None

    async def _leave(self, client: "McpClient | None") -> None:
        """Hang up on a session that is forgotten, once the calls that are still under way in it had time to end."""
        self._leaving = True
        with trio.move_on_after(CLOSING_SECONDS):
            while self._client is client and self._under_way:
                await self._changed.wait()
        if self._client is client:
            self._server_closed()
        await self._cause()

    async def _sent(self, send: Callable[["McpClient"], Awaitable[Any]], ref: str) -> Any:
        """One request on the connection as it is.

        Raises: RequestFailedError: the server's own refusal. HandlerError: anything else.
        """
        from host_bridge.mcp.client import RequestFailedError

        calls = self._calls
        if calls is None or self._client is None:
            raise HandlerError(f"{ref}: the server {self.name} ended before the call was sent: {self.error}")
        request = _Request(send)
        self._under_way += 1
        calls.start_soon(self._serve, request)
        seconds = self.settings.timeout_ms / 1000
        try:
            with trio.move_on_after(seconds):
                await request.done.wait()
        finally:
            # The courtesy of telling the server is left to the server's task: it may not be reading.
            request.scope.cancel()
        if not request.done.is_set():
            raise HandlerError(
                f"{ref} took longer than {seconds:g} s (setting mcpServers.{self.name}.timeoutMs)", "limit"
            )
        failure = request.failure
        if request.lost or (isinstance(failure, RequestFailedError) and failure.closed):
            raise HandlerError(
                f"{ref}: the server {self.name} ended while the call was running ({await self._cause()}); "
                "whether the call took effect is not known"
            )
        if isinstance(failure, RequestFailedError) and any(sign in str(failure) for sign in TOO_LONG):
            raise HandlerError(
                f"{ref}: {failure} (setting mcpServers.{self.name}.maxResultBytes); ask for less at a time", "limit"
            )
        if failure is not None:
            raise failure
        return request.value

    async def ready(self, *, ref: str) -> None:
        """Wait until the server is connected, starting it if nobody has.

        Raises: HandlerError: it is disabled, stopped, or failed to start.
        """
        starts = self.starts
        while self.state != "ready":
            if self.state in ("disabled", "stopped") or self._stop.is_set() or not self._running:
                why = f"mcpServers.{self.name}.disabled is set" if self.state == "disabled" else "this host is closing"
                raise HandlerError(f"{ref}: the server {self.name} is not available: {why}")
            pause = self._not_before - trio.current_time()
            if self.state == "failed" and (self.starts > starts or pause > PATIENCE_SECONDS):
                later = f"; the next try is possible in {pause:.0f} s" if pause > PATIENCE_SECONDS else ""
                raise HandlerError(f"{ref}: the server {self.name} could not be started: {self.error}{later}")
            self._wanted.set()
            await self._changed.wait()

    async def _serve(self, request: _Request) -> None:
        client = self._client
        try:
            with request.scope:
                if client is not None:
                    request.value = await request.send(client)
                    return
            request.lost = client is None
        except Exception as error:
            request.failure = error
        except trio.Cancelled:
            request.lost = True
            raise
        finally:
            request.done.set()
            self._under_way -= 1
            if self._leaving and not self._under_way:
                self._tell()

    async def _live(self) -> None:
        """One life of the server, from its start to its end."""
        self.starts += 1
        self._wake, self._closed, self._list_again = trio.Event(), False, False
        self._leaving = False
        self._become("starting")
        born = trio.current_time()
        seconds = self.settings.start_timeout_ms / 1000
        self.error = ""
        try:
            with trio.CancelScope() as start:
                self._life = start
                # Left to itself when somebody leaves: nobody's Ctrl-C waits for an import.
                await trio.to_thread.run_sync(load_sdk, abandon_on_cancel=True)
                if not self._stop.is_set():
                    # From here on it is the server that takes its time, not our import.
                    start.deadline = trio.current_time() + seconds
                async with self._connected() as client:
                    found = await client.manifest()
                    start.deadline = math.inf
                    await self._serve_calls(client, found)
            if start.cancelled_caught and not self._stop.is_set():
                why = f"; {self.error}" if self.error else ""
                self.error = (
                    f"it was not ready after {seconds:g} s (setting mcpServers.{self.name}.startTimeoutMs){why}"
                )
        except Exception as error:
            self.error = self.error or _sentence(error)
        lived = trio.current_time() - born if self.state == "ending" else 0.0
        self._life = None
        self.failures = 0 if lived >= STEADY_SECONDS or self._stop.is_set() else self.failures + 1
        pause = FIRST_PAUSE_SECONDS * 2 ** min(self.failures - 1, 10) if self.failures else 0.0
        self._not_before = trio.current_time() + min(pause, LONGEST_PAUSE_SECONDS)
        # The next start waits for the next caller.
        self._wanted = trio.Event()
        if self._stop.is_set():
            self._wanted.set()
        self.error = self.error or "it ended"
        self._become("failed")

    async def _serve_calls(self, client: "McpClient", found: Manifest) -> None:
        try:
            async with trio.open_nursery() as calls:
                self._learned(found)
                self._calls, self._client = calls, client
                self._become("ready")
                calls.start_soon(client.watch_tools, self._tools_changed)
                while True:
                    await self._wake.wait()
                    if self._closed or self._stop.is_set():
                        break
                    self._wake, self._list_again = trio.Event(), False
                    self._learned(await client.manifest())
                calls.cancel_scope.cancel()
        finally:
            # Stopping a server takes a while; from now on nobody may hand it a call.
            self._calls = self._client = None
            if self.state == "ready":
                self._become("ending")

    def _connected(self) -> AbstractAsyncContextManager["McpClient"]:
        return connected(
            self.name,
            self.settings,
            self._environment,
            tools_changed=self._tools_changed,
            closed=self._server_closed,
            died=self._server_died,
        )

    def _server_closed(self) -> None:
        self._closed = True
        self._wake.set()

    def _server_died(self, how: str) -> None:
        if not self._stop.is_set():
            self.error = how

    def _tools_changed(self) -> None:
        self._list_again = True
        self._wake.set()

    async def _cause(self) -> str:
        """How the server ended, once that is known."""
        with trio.move_on_after(CLOSING_SECONDS):
            while self.state in ("ready", "ending"):
                await self._changed.wait()
        return self.error or "its connection closed"

    def _become(self, state: State) -> None:
        self.state = state
        self._tell()

    def _tell(self) -> None:
        """Wake whoever waits for a change, to look again."""
        self._changed.set()
        self._changed = trio.Event()


def _sentence(error: BaseException) -> str:
    """The first plain cause inside a group, as one line."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    while not str(error).strip() and (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    told = error.strerror if isinstance(error, OSError) and error.strerror else error
    text = str(told).strip().partition("\n")[0][:300]
    return text if text and not isinstance(error, KeyError) else f"{type(error).__name__}: {text}".rstrip(": ")
