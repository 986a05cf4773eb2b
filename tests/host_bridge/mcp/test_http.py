"""Our own server over streamable HTTP on loopback, and hostile answers by hand."""

import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from tests.host_bridge.mcp.calling import HERE, opened

MIB = 1024 * 1024
# When a body is cut off, the HTTP library leaves its own inner generators to the garbage collector; trio ends them.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def own_server(*script: str) -> AsyncIterator[tuple[int, trio.Process]]:
    port = free_port()
    name, *arguments = script or ("own_server.py", "http")
    command = [sys.executable, str(HERE / name), *arguments, str(port)]
    process = await trio.lowlevel.open_process(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with trio.fail_after(30):
            while True:
                try:
                    await (await trio.open_tcp_stream("127.0.0.1", port)).aclose()
                    break
                except OSError:
                    await trio.sleep(0.05)
        yield port, process
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


async def test_a_server_over_http_behaves_like_one_over_stdio(tmp_path: Path) -> None:
    async with own_server() as (port, process):
        entry = {"url": f"http://127.0.0.1:{port}/mcp", "maxResultBytes": 12 * MIB}
        async with opened({"own": entry}, tmp_path) as calls:
            assert await calls.value("mcp.own.add", a=1, b=2) == 3
            assert await calls.value("mcp.own.names") == ["ada", "grace"]
            assert await calls.value("mcp.own.dump", count=5_000_000) == "x" * 5_000_000
            assert (await calls.value("mcp.own.picture"))["content"][0]["type"] == "image"
            kind, _ = await calls.refusal("mcp.own.fail", reason="x")
            assert kind == "host"
            kind, message = await calls.refusal("mcp.own.dump", count=20_000_000)
            assert kind == "limit"
            assert "setting mcpServers.own.maxResultBytes" in message
            noted = tmp_path / "note"
            with trio.fail_after(20):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(lambda: calls.admitted("mcp.own.wait", file=str(noted)))
                    while not noted.exists() or noted.read_text() != "started":
                        await trio.sleep(0.01)
                    nursery.cancel_scope.cancel()
                while noted.read_text() != "cancelled":
                    await trio.sleep(0.01)
            assert calls.state("own")["transport"] == "http"
            process.kill()
            await process.wait()
            kind, message = await calls.refusal("mcp.own.add", a=1, b=2)
            assert kind == "host"
            assert message.startswith("mcp.own.add: the server own ended while the call was running")


@pytest.mark.parametrize("path", ["plain", "rpc", "bad"])
async def test_a_call_that_meets_a_forgotten_session_is_sent_once_more_in_a_new_one(tmp_path: Path, path: str) -> None:
    async with own_server("session_server.py") as (port, _):
        async with opened({"s": {"url": f"http://127.0.0.1:{port}/{path}"}}, tmp_path) as calls:
            assert await calls.value("mcp.s.forget") == "1"
            assert await calls.value("mcp.s.count") == "1"
            assert calls.state("s")["starts"] == 2
            await calls.value("mcp.s.forget")
            got: list[str] = []

            async def count() -> None:
                got.append(await calls.value("mcp.s.count"))

            async with trio.open_nursery() as nursery:
                for _ in range(5):
                    nursery.start_soon(count)
            assert got == ["1"] * 5


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("locked", 'HTTP 401 Unauthorized: {"error":"invalid_token","error_description":"the token is stale"}'),
        ("broken", "HTTP 500 Internal Server Error"),
    ],
)
async def test_a_refusal_over_http_is_told_with_its_status_and_its_words(tmp_path: Path, path: str, told: str) -> None:
    async with own_server("session_server.py") as (port, _):
        async with opened({"s": {"url": f"http://127.0.0.1:{port}/{path}"}}, tmp_path) as calls:
            kind, message = await calls.refusal("mcp.s.count")
            assert (kind, message) == ("host", f"mcp.s.count: the server s could not be started: {told}")


async def test_a_server_without_tls_behind_an_https_url_is_told_as_such(tmp_path: Path) -> None:
    async with own_server("session_server.py") as (port, _):
        async with opened({"s": {"url": f"https://127.0.0.1:{port}/mcp"}}, tmp_path) as calls:
            _, message = await calls.refusal("mcp.s.count")
            assert "SSL" in message


async def test_a_url_that_nobody_serves_is_a_failed_start(tmp_path: Path) -> None:
    async with opened({"none": {"url": f"http://127.0.0.1:{free_port()}/mcp"}}, tmp_path) as calls:
        kind, message = await calls.refusal("mcp.none.go")
        assert kind == "host"
        assert message.startswith("mcp.none.go: the server none could not be started: ")


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        (b"content-type: application/json\r\ncontent-length: 900000000", b"[" * 64_000, "answered with more than"),
        (b"content-type: application/json\r\ncontent-encoding: gzip", b"", "compressed"),
        (b"content-type: text/html", b"<html>", "text/html"),
    ],
)
async def test_hostile_answers_are_bounded(tmp_path: Path, head: bytes, body: bytes, expected: str) -> None:
    async def serve(stream: trio.SocketStream) -> None:
        try:
            await stream.receive_some(65536)
            await stream.send_all(b"HTTP/1.1 200 OK\r\n" + head + b"\r\nconnection: close\r\n\r\n")
            while body:
                await stream.send_all(body)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        finally:
            with trio.CancelScope(shield=True):
                await stream.aclose()

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        port = listeners[0].socket.getsockname()[1]
        entry = {"url": f"http://127.0.0.1:{port}/mcp", "maxResultBytes": 2 * MIB}
        async with opened({"bad": entry}, tmp_path) as calls:
            kind, message = await calls.refusal("mcp.bad.go")
            assert kind == "host"
            assert "could not be started" in message
            assert expected in message
        nursery.cancel_scope.cancel()
