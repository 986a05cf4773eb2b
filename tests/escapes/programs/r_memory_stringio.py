import io
out = io.StringIO()
while True:
    out.write("x" * 1_000_000)
