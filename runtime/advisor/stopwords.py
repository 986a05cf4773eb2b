# ruff: noqa: SIM905  (lists of words read better as words)
"""The 85 words that frame requests and carry no capability weight, and the 67 filename endings. Data, no code.

Both lists were recorded; a word or an ending that is not here counts in full.
"""

from typing import Final

STOPWORDS: Final = frozenset(
    (
        "a about all also an and any are as at be been between by can current down during each else existing for "
        "from how i if in into is it its many me mine more most much my new no not of off on one only or other out "
        "over per please same so some such than thanks that the their then this through to under up us use used "
        "using via we what when where which who whom whose why will with you your "
    ).split()
)
"""Lower case, compared with whole tokens. Seed: combustion:token:stopwords"""

FILENAME_ENDINGS: Final = tuple(
    (
        "md markdown txt ts tsx js jsx mjs cjs mts cts json jsonc py rb go rs java kt swift c h cc cpp hpp cs php "
        "sh bash zsh yaml yml toml ini cfg conf xml htm html css scss sass less sql csv tsv lock log png jpg jpeg "
        "gif webp svg ico pdf zip gz tar mp4 mp3 wav wasm proto graphql vue svelte "
    ).split()
)
"""A bare name before one of these is a file name, in any letter case. Seed: combustion:path:extension-list"""
