"""`python -I -m guest_api.inside FD`: the zygote, on an inherited control socket. A host adds paths."""

import sys

from guest_api.inside.zygote import main

main(int(sys.argv[1]))
