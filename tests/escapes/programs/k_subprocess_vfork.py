import os
result = os.posix_spawn("/bin/true", ["true"], {})
