"""A server that speaks JSON-RPC by hand, so that it can misbehave: the first argument says how."""

import json
import os
import sys
import time
from pathlib import Path

MODE = sys.argv[1]
STATE = Path(sys.argv[2]) if len(sys.argv) > 2 else None


def send(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def reply(request: dict[str, object], result: object) -> None:
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def tools() -> list[dict[str, object]]:
    shape: dict[str, object] = {"type": "object", "properties": {"q": {"type": "string"}}}
    if MODE == "changing" and STATE is not None and STATE.exists():
        shape = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    found: list[dict[str, object]] = [{"name": "go", "description": "Do it.", "inputSchema": shape}]
    if MODE == "growing" and STATE is not None and STATE.exists():
        found.append({"name": "late", "description": "Added while running.", "inputSchema": {"type": "object"}})
    return found


def sloppy() -> list[object]:
    """Tools as servers really send them, beside what no server should."""
    deep: dict[str, object] = {"type": "string"}
    for _ in range(150):
        deep = {"type": "object", "properties": {"a": deep}}
    return [
        {"name": "right", "description": "As it should be.", "inputSchema": {"type": "object", "required": ["q"]}},
        {"name": "no_type", "inputSchema": {"properties": {"q": {"type": "string"}}, "required": ["q"]}},
        {"name": "empty", "inputSchema": {}},
        {"name": "no_schema"},
        {"name": "null_parts", "description": None, "inputSchema": {"type": "object", "properties": None}},
        {"name": "text", "inputSchema": {"type": "string"}},
        {"name": "list", "inputSchema": ["q"]},
        {"name": "bad_hints", "annotations": {"readOnlyHint": "yes", "openWorldHint": False}, "inputSchema": {}},
        {
            "name": "bad_fields",
            "title": 3,
            "description": ["x"],
            "outputSchema": "none",
            "icons": "i",
            "inputSchema": {},
        },
        {"name": "deep", "inputSchema": deep},
        {"name": 5, "inputSchema": {}},
        {"inputSchema": {}},
        "not a tool",
    ]


def call(request: dict[str, object]) -> None:
    out = sys.stdout.buffer
    if MODE == "flood":
        # 200 MB in one line, the id first or last.
        identity = json.dumps(request["id"]).encode()
        first = request["params"]["arguments"].get("q") != "last"  # type: ignore[index]
        out.write(b'{"jsonrpc":"2.0",' + (b'"id":' + identity + b"," if first else b""))
        out.write(b'"result":{"content":[{"type":"text","text":"')
        for _ in range(200):
            out.write(b"x" * 1_000_000)
        out.write(b'"}]}' + (b"" if first else b',"id":' + identity) + b"}\n")
        out.flush()
    elif MODE == "anonymous":
        out.write(b"y" * 30_000_000 + b"\n")
        out.flush()
    elif MODE == "malformed":
        out.write(b'{"jsonrpc":"2.0","id":' + json.dumps(request["id"]).encode() + b',"result":{"content":[}}\n')
        out.flush()
    elif MODE == "deaf":
        time.sleep(3600)
    elif MODE == "infinite":
        out.write(b'{"jsonrpc":"2.0","id":' + json.dumps(request["id"]).encode())
        out.write(b',"result":{"content":[],"structuredContent":{"rows":[{"score":1e999}]}}}\n')
        out.flush()
    elif MODE == "growing" and STATE is not None:
        STATE.touch()
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        reply(request, {"content": [{"type": "text", "text": "grown"}]})
    elif MODE == "storm":
        for _ in range(5000):
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        reply(request, {"content": [{"type": "text", "text": "calm"}]})
    elif MODE == "stranger":
        for other in (10**6, "x", None):
            send({"jsonrpc": "2.0", "id": other, "result": {"content": []}})
        send(
            {"jsonrpc": "2.0", "id": 77, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}
        )
        send({"jsonrpc": "2.0", "id": 78, "method": "roots/list"})
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hi"}})
        send({"jsonrpc": "2.0", "method": "notifications/nobody/knows"})
        reply(request, {"content": [{"type": "text", "text": "mine"}]})
    elif MODE == "odd":
        reply(request, {"content": [{"type": "text", "text": request["params"]["name"]}]})  # type: ignore[index]
    elif MODE == "logs":
        out.write(b"working\n" * 15_000)
        out.flush()
        reply(request, {"content": [{"type": "text", "text": "done"}]})
    elif MODE == "dies":
        os._exit(3)
    else:
        reply(request, {"content": [{"type": "text", "text": "done"}]})


def main() -> None:
    if MODE == "child":
        # Something that the server leaves behind when it ends.
        os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "3600")
    if MODE == "banner":
        print("Welcome to the raw server 1.0 { not json", flush=True)
    if MODE == "mute":
        time.sleep(3600)
    if MODE == "stillborn":
        print("no licence", file=sys.stderr, flush=True)
        sys.exit(9)
    for line in sys.stdin:
        request = json.loads(line)
        method = request.get("method")
        if method == "initialize":
            version = "1999-01-01" if MODE == "oldest" else request["params"]["protocolVersion"]
            if MODE == "nonsense":
                reply(request, {"hello": "world"})
                continue
            info = {"name": "raw", "version": "1"}
            reply(request, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/list" and MODE == "endless":
            reply(request, {"tools": [], "nextCursor": "again"})
        elif method == "tools/list" and MODE == "odd":
            names = ["class", "get-it", "get.it", "get_it", "日本", "a b", "x" * 300, "__init__", "mro"]
            reply(request, {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in names]})
        elif method == "tools/list" and MODE == "sloppy":
            reply(request, {"tools": sloppy()})
        elif method == "tools/list":
            reply(request, {"tools": tools()})
        elif method == "tools/call":
            call(request)
        elif "id" in request:
            send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}})


main()
