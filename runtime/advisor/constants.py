"""The two values of the model, the default threshold, and every constant that derives from them. It knows no text.

q, tau and theta's default are the only literals of choice here; the digits in the formulas are the formulas' own.
Limits of text and format, which derive from nothing, stand in `limits.py`.
"""

from math import log
from typing import Final

SCORE_QUANTUM: Final = 1.0
"""q: the weight carried by a source-unique term. Seed: combustion:heat:q"""
MEMORY_SCALE_TURNS: Final = 2
"""tau: the time scale behind heat and feedback, in turns. Seed: combustion:heat:tau"""
DEFAULT_THRESHOLD: Final = 0.9
"""theta: the base fire point unless configured. Seed: combustion:heat:theta"""

HEAT_RETENTION: Final = 1 - 1 / MEMORY_SCALE_TURNS
"""alpha: the part of the heat that a processed prompt keeps. Seed: combustion:const:retention"""
COOL_HALF_LIFE_TURNS: Final = log(1 / 2) / log(1 - 1 / MEMORY_SCALE_TURNS)
"""Turns until unfed heat has halved. Seed: combustion:const:half-life"""
WEAK_BAND_WIDTH: Final = SCORE_QUANTUM
"""B: a surface this far above theta is strong. Seed: combustion:const:weak-band"""
SMOKE_STREAK_LIMIT: Final = MEMORY_SCALE_TURNS**2
"""The most unused hints in a row that count. Seed: combustion:const:streak-limit"""
SMOKE_STEP: Final = 1 / MEMORY_SCALE_TURNS**2
"""What one unused hint adds to the fire point, as a part of theta. Seed: combustion:const:smoke-step"""
LARGEST_RAISE: Final = SMOKE_STEP * SMOKE_STREAK_LIMIT
"""The most that smoke adds to the fire point, as a part of theta. Seed: combustion:const:largest-raise"""
DEFAULT_BRANCH_CAP: Final = 2 * MEMORY_SCALE_TURNS - 1
"""Hints that one branch permits unless configured. Seed: combustion:const:branch-cap"""
PHRASE_WINDOW: Final = 2 * MEMORY_SCALE_TURNS
"""The farthest that two words of a phrase stand apart, in surviving words. Seed: combustion:const:phrase-window"""
SCATTER_FEED_LIMIT: Final = SCORE_QUANTUM
"""The most that scattered words feed in one turn. Seed: combustion:const:scatter-limit"""
TOPIC_SHARE: Final = 1 - 1 / MEMORY_SCALE_TURNS
"""The part of a source's tools that its topic covers. Seed: combustion:const:topic-share"""
FEEDBACK_WINDOW_TURNS: Final = MEMORY_SCALE_TURNS
"""Turn ends during which a call counts as use of a hint. Seed: combustion:const:feedback-window"""
EPISODE_GAP_TURNS: Final = MEMORY_SCALE_TURNS**2
"""A word that returns after this many turns opens a new episode. Seed: combustion:const:episode-gap"""
EPISODE_RESET_TURNS: Final = MEMORY_SCALE_TURNS**3
"""A word that returns after this many turns is new again. Seed: combustion:const:episode-reset"""


def familiar_factor(episodes: int) -> float:
    """1 / (1 + e): what is left of a word's weight after `episodes` completed episodes.

    Seed: combustion:const:familiar-factor
    """
    return 1 / (1 + episodes)


def fire_point(threshold: float, streak: int) -> float:
    """theta_i = theta (1 + n / tau^2): the heat at which the weak lane fires after `streak` unused hints.

    Seed: combustion:smoke:formula
    """
    return threshold * (1 + streak / MEMORY_SCALE_TURNS**2)
