"""`python -m runtime`, the same as `pi-fabric`."""

from runtime.cli import main

main()
