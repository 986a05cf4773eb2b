import contextlib
seen = []
with contextlib.ExitStack() as stack:
    stack.push(lambda kind, error, trace: seen.append(trace.tb_frame) or True)
    raise ValueError
return str(seen)
