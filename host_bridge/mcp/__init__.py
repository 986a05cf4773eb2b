"""MCP servers as actions. `servers.py` opens them all; `connection.py` keeps one alive in a task of its own.

`settings.py` one entry of `mcpServers`; `stdio.py` and `http.py` the two ways to reach a server, both bounded as bytes
arrive; `names.py` refs; `values.py` a tool's result as a value; `manifest.py` the list of tools and its cache on disk.
The SDK is imported when the first server starts.
"""
