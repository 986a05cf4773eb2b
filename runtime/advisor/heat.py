"""The exponential mean of each source's recent scores. It knows namespaces and numbers, no words and no reasons."""

from collections.abc import Mapping
from typing import TypeAlias

from runtime.advisor.constants import HEAT_RETENTION
from runtime.advisor.limits import HEAT_FLOOR

Heat: TypeAlias = Mapping[str, float]
"""Namespace to W; a source that is not listed has none."""


def cooled(heat: Heat) -> dict[str, float]:
    """What one processed prompt leaves of the heat, whatever the prompt holds.

    Seed: combustion:heat:halve-each-prompt, combustion:heat:unrelated-halves
    """
    return {namespace: left for namespace, value in heat.items() if (left := value * HEAT_RETENTION) >= HEAT_FLOOR}


def warmed(cooled_heat: float, score: float) -> float:
    """W_k = (1 - alpha) s + alpha W_{k-1}, where `cooled_heat` is the second term.

    Seed: combustion:heat:filter
    """
    return cooled_heat + (1 - HEAT_RETENTION) * score
