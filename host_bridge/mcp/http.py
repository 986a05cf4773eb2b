"""A server behind a URL: the SDK's streamable HTTP transport, bounded as bytes arrive; no protocol here."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
import msgspec
from mcp.client.streamable_http import streamable_http_client

CONNECT_SECONDS: Final = 10.0
"""To reach the server and to hand it a request; answers are bounded by the call's own deadline."""
REASON_BYTES: Final = 64 * 1024
"""Of the body of a refusal; a longer one is told without its words."""
REASON_CHARACTERS: Final = 200
FORGOTTEN: Final = -32099
"""The code of the error that stands for a session which the server no longer knows; of implementations' own range."""
_SESSION: Final = "mcp-session-id"


class _BoundedStream(httpx2.AsyncByteStream):
    """A response body that ends in an error once it is longer than it may be."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit_bytes: int) -> None:
        self._inner = inner
        self._chunks: AsyncIterator[bytes] | None = None
        self._limit = limit_bytes
        self._count = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        self._chunks = self._inner.__aiter__()
        return self

    async def __anext__(self) -> bytes:
        if self._chunks is None:
            raise StopAsyncIteration
        chunk = await self._chunks.__anext__()
        self._count += len(chunk)
        if self._count > self._limit:
            await self._end()
            # The transport turns this kind of error into the answer of the one request it belongs to.
            raise httpx2.StreamError(f"answered with more than {self._limit} bytes")
        return chunk

    async def aclose(self) -> None:
        await self._end()
        await self._inner.aclose()

    async def _end(self) -> None:
        """Close the inner generator where it stands; trio does not allow one to be left to the garbage collector."""
        chunks, self._chunks = self._chunks, None
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """HTTP whose JSON bodies are at most `limit_bytes` long; event streams are bounded by the event instead."""

    def __init__(self, limit_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self._limit = limit_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Ask for an uncompressed answer, since a small compressed one can grow without bound when it is unpacked."""
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        streamed = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        packed = response.headers.get("content-encoding", "identity").lower() != "identity"
        if packed:
            await response.aclose()
            raise httpx2.RemoteProtocolError("the server compressed an answer although it was asked not to")
        if not streamed and isinstance(response.stream, httpx2.AsyncByteStream):
            refused = response.status_code >= 400
            response.stream = _BoundedStream(response.stream, REASON_BYTES if refused else self._limit)
            if refused and request.method == "POST":
                return await _explained(request, response)
        return response


async def _explained(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """A refusal as an error of the protocol that says what came; the SDK keeps neither status nor body."""
    try:
        body = await response.aread()
    except (httpx2.StreamError, httpx2.TransportError):
        body = b""
    finally:
        await response.aclose()
    if not _speaks_protocol(body):
        words = " ".join(body.decode("utf-8", "replace").split())[:REASON_CHARACTERS]
        words = "" if words.startswith("<") else words
        message = f"HTTP {response.status_code} {response.reason_phrase}".rstrip() + (f": {words}" if words else "")
        code = -32603
        if response.status_code == 404 and _SESSION in request.headers:
            code, message = FORGOTTEN, "it no longer knows this session"
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}})
    return httpx2.Response(
        response.status_code, headers={"content-type": "application/json"}, content=body, request=request
    )


def _speaks_protocol(body: bytes) -> bool:
    try:
        return "jsonrpc" in msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return False


@asynccontextmanager
async def open_http(url: str, *, headers: Mapping[str, str], limit_bytes: int) -> AsyncIterator[tuple[Any, Any]]:
    """Streams to and from the server; nothing is sent before the first message.

    Proxy and CA settings of the environment are honoured; redirects stay on the origin (the SDK sees to that).
    """
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=None)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=BoundedTransport(limit_bytes)) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=limit_bytes) as streams,
    ):
        yield streams
