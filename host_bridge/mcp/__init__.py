"""MCP servers as actions. `servers.py` opens them all; `connection.py` keeps one alive in a task of its own.

`settings.py` is one entry of `mcpServers`; `stdio.py` (its lines: `lines.py`) and `http.py` are the two ways to reach a
server, both bounded as bytes arrive; `names.py` makes refs, `values.py` turns a tool's result into a value, and
`manifest.py` is the list of tools with its cache. `client.py` alone speaks the SDK's client, which is imported when the
first server starts.
"""
