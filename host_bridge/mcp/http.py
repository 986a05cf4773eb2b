"""A server behind a URL: the SDK's streamable HTTP transport, bounded as bytes arrive; no protocol here."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

CONNECT_SECONDS: Final = 10.0
"""To reach the server and to hand it a request; answers are bounded by the call's own deadline."""


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
            response.stream = _BoundedStream(response.stream, self._limit)
        return response


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
