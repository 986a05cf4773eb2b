"""`python -I -m guest_api.inside FD`: the zygote, for an installed package; a host starts the same entry with its own paths."""

import sys

from guest_api.inside.zygote import main

main(int(sys.argv[1]))
