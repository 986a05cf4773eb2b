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
NO_SUCH_METHOD: Final = -32601
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
    told = _protocol_error(body)
    if _SESSION in request.headers and _is_forgotten(response.status_code, told, body):
        body = _error(FORGOTTEN, "it no longer knows this session")
    elif told is None:
        words = " ".join(body.decode("utf-8", "replace").split())[:REASON_CHARACTERS]
        words = "" if words.startswith("<") else words
        message = f"HTTP {response.status_code} {response.reason_phrase}".rstrip() + (f": {words}" if words else "")
        body = _error(-32603, message)
    return httpx2.Response(
        response.status_code, headers={"content-type": "application/json"}, content=body, request=request
    )


def _is_forgotten(status: int, told: Mapping[str, Any] | None, body: bytes) -> bool:
    """Whether a refusal says that the session is gone: 404 by the protocol, 400 with words about it in many servers."""
    if status == 404:
        return told is None or told.get("code") != NO_SUCH_METHOD
    return status == 400 and b"session" in body.lower()


def _error(code: int, message: str) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}})


def _protocol_error(body: bytes) -> Mapping[str, Any] | None:
    """The error in a body that speaks the protocol; None: it does not."""
    try:
        said = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    error = said.get("error")
    return error if "jsonrpc" in said and isinstance(error, dict) else None


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
