# Fan out over the files of a folder: one child agent a file, each in a process of its own, with less than its parent.
#
#     pi-fabric run examples/narrowed_children.py --allow agent
#     pi-fabric run examples/narrowed_children.py --allow agent --input '{"folder": "docs", "pattern": "*.md"}'
#
# You will see: a line for each child; large files ask for more effort than the children's bounds allow and report
# the level they asked for; a request for more than this program has is refused before any process starts.
folder = (input or {}).get("folder", ".")
pattern = (input or {}).get("pattern", "*.md")

reader = """
text = await pi.read(path=input["path"])
status = await thinking.status()
try:
    await pi.bash(command="rm -rf .")
    escaped = True
except ActionError:
    escaped = False
words = len(text.split())
return {"words": words, "level": status.level, "highest": status.bounds.max, "escaped": escaped}
"""

found = await pi.find(pattern=pattern, path=folder)
paths = [f"{folder}/{name}" for name in sorted(found.splitlines())][:12]
print(f"{len(paths)} files match {pattern} in {folder}")

handles = []
for path in paths:
    name = path.rsplit("/", 1)[-1]
    is_large = len(await pi.read(path=path)) > 8000
    handle = await agents.spawn(
        program=reader,
        input={"path": path},
        name=name,
        tools=["pi.read"],  # of everything this program may use
        thinking="xhigh" if is_large else "low",
        thinking_bounds={"max": "medium"},
        schema={"type": "object", "required": ["words"], "properties": {"words": {"type": "integer"}}},
    )
    handles.append(handle)

files = {}
for handle, result in zip(handles, await agents.wait(handles)):
    asked = f" (asked for {handle.requestedThinking})" if "requestedThinking" in handle else ""
    if result.status == "completed":
        files[handle.name] = result.value["words"]
        print(f"{handle.name}: {result.value['words']} words at {result.value['level']}{asked}")
        assert not result.value["escaped"] and result.value["highest"] == "medium"
    else:
        print(f"{handle.name}: {result.status}: {result.error.message}")

refused = None
try:
    await agents.run(program="return 1", max_depth=9)
except ActionError as error:
    refused = str(error)
print(f"refused: {refused}")
return {"files": files, "words": sum(files.values()), "refused": refused}
