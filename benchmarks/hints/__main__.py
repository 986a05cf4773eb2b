"""`python -m benchmarks.hints`: the tables, and with `-v` every miss."""

import sys

from benchmarks.hints import main

if __name__ == "__main__":
    result = main()
    if "-v" in sys.argv:
        for miss in result["misses"]:
            print(f"{miss['id']} {miss['kind']:<15} {miss['miss']:<11} {miss['why']}")
