"""Properties try the same examples in every `make test`, so that a failure is a change's and not the day's; `make soak`
draws new ones and keeps what it found. No example has a deadline: a busy machine is no defect.
"""

import os

from hypothesis import settings

settings.register_profile("test", derandomize=True, database=None, deadline=None)
settings.register_profile("soak", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))
