"""A server over HTTP as most are today, by hand: sessions by header, plain JSON answers; it forgets them on request."""

import http.server
import json
import sys
import uuid

SESSIONS: set[str] = set()


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.answer(405, b"")

    def do_DELETE(self) -> None:
        self.answer(204, b"")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/locked":
            self.answer(401, b'{"error":"invalid_token","error_description":"the token is stale"}')
            return
        if self.path == "/broken":
            self.answer(500, b"<html>\n<h1>oops</h1>", **{"content-type": "text/html"})
            return
        method, headers = request.get("method"), {}
        if method == "initialize":
            session = uuid.uuid4().hex
            SESSIONS.add(session)
            headers = {"mcp-session-id": session}
            info = {"name": "sessions", "version": "1"}
            result: object = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        elif self.headers.get("mcp-session-id") not in SESSIONS:
            # As plain servers, the official Python and the official TypeScript ones say it.
            words = {"code": -32600, "message": "Session not found"}
            in_words = json.dumps({"jsonrpc": "2.0", "id": "server-error", "error": words}).encode()
            status, body = {"/plain": (404, b"gone"), "/rpc": (404, in_words), "/bad": (400, in_words)}[self.path]
            self.answer(status, body)
            return
        elif "id" not in request:
            self.answer(202, b"")
            return
        elif method == "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("count", "forget")]}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": str(len(SESSIONS))}]}
            if request["params"]["name"] == "forget":
                SESSIONS.clear()
        else:
            result = {}
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        self.answer(200, json.dumps(reply).encode(), **headers)


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
