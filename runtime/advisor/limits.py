"""Limits of text and format. They derive from no formula; each cites its number in the list of recorded behaviours."""

from typing import Final

MINIMUM_TOKEN_CHARACTERS: Final = 2
"""A token is a letter and at least one more letter or digit (11)."""
FIRST_SENTENCE_MINIMUM_UNITS: Final = 8
"""An end mark ends a sentence only after this many UTF-16 units (18)."""
SHORT_DESCRIPTION_UNITS: Final = 64
"""The longest description that a bullet shows, in UTF-16 units (21)."""
ELLIPSIS: Final = "…"
"""What a cut description and a cut counter end with (21, 52)."""
PATH_FACTOR: Final = 1 / 2
"""What is left of a weight if the term stands only inside paths: half a quantum (28)."""
BRAND_MINIMUM_LETTERS: Final = 3
"""Shorter label tokens, such as `ai` and `pi`, are no brands (37)."""
HEAT_FLOOR: Final = 0.001
"""Heat below this after cooling is dropped to zero (2)."""
LISTED_SOURCES: Final = 2
"""The most namespaces one hint names (50)."""
TOOLS_PER_SOURCE: Final = 2
"""The most tools a hint names of one source (52)."""
TOOLS_PER_HINT: Final = 3
"""The most tools a hint names in all (52)."""
COUNTER_NAMES: Final = 3
"""The most names that the counter of further tools lists (52)."""
UNITS_PER_TOKEN: Final = 4
"""UTF-16 units that are reckoned as one token of the text budget (56)."""
SCORE_DECIMALS: Final = 2
"""Places of the score in the details, rounded half up (57)."""
UNSCOPED: Final = "unscoped"
"""The namespace of a tool that has none (58)."""
THRESHOLD_RANGE: Final = (0.0, 1000.0)
"""What `capture.advisory.threshold` accepts (67)."""
MAX_PER_SESSION_RANGE: Final = (1, 50)
"""What `capture.advisory.maxPerSession` accepts (67)."""
BUDGET_TOKENS_RANGE: Final = (128, 8192)
"""What `capture.advisory.budget` accepts (67)."""
DEFAULT_BUDGET_TOKENS: Final = 512
"""The longest text of a hint unless configured."""
MINIMUM_SURFACES_RANGE: Final = (0, 1000)
"""What `capture.advisory.minimumSurfaces` accepts; a setting of ours."""
