"""An explanation as people read it, line by line. It knows no advisor: only what `explain.py` found."""

from runtime.advisor.explain import Explanation, SourceExplanation


def render_text(explanation: Explanation, *, most: int = 8) -> str:
    """The explanation as people read it."""
    hint = explanation.decision.hint
    lines = []
    if hint is None:
        reason = {None: "no source fires", "no words": "no word of the prompt carries evidence"}.get(
            explanation.decision.silence, explanation.decision.silence
        )
        lines.append(f"No hint: {reason}.")
    else:
        lines += ["Hint:", *[f"  {line}" for line in hint.content.split("\n")]]
    lines += [
        "",
        (
            f"threshold {explanation.threshold:g}   strong from {explanation.strong_bar:g}"
            f"   fire point {explanation.fire_point:g} (smoke {explanation.smoke_streak})"
            f"   hints spent {explanation.spent_hints} of {explanation.max_per_session}"
        ),
        f"words: {' '.join(explanation.survivors) or '(none)'}",
    ]
    if explanation.echoed:
        lines.append(f"echoes of earlier hints: {' '.join(explanation.echoed)}")
    if explanation.path_only:
        lines.append(f"only in paths (half weight): {' '.join(explanation.path_only)}")
    if explanation.mostly_non_latin:
        lines.append("mostly another script than Latin")
    for source in explanation.sources[:most]:
        lines += ["", *_source_lines(source)]
    left = len(explanation.sources) - most
    if left > 0:
        lines += ["", f"… and {left} more sources with a lower score"]
    return "\n".join(lines)


def _source_lines(source: SourceExplanation) -> list[str]:
    state = "FIRES" if source.fires else f"silent: {source.blocked_by}"
    lane = source.lane or "none"
    surface = f" on {source.surface}" if source.surface else ""
    cooling = f" ({source.heat_cooled:.4g} after cooling)" if source.heat_before else ""
    lines = [
        f"{source.namespace}   {state}",
        (
            f"  lane {lane}{surface}   raw {source.raw_score:.4g}   effective {source.effective_score:.4g}"
            f"   heat {source.heat_before:.4g} -> {source.heat_after:.4g}{cooling}"
        ),
    ]
    for word in source.words:
        notes = [f"1/{word.document_frequency}"]
        if word.path_factor != 1:
            notes.append(f"path x{word.path_factor:g}")
        if word.episodes:
            notes.append(f"episodes /{1 + word.episodes}")
        read_as = "" if word.readings == (word.term,) else f" as {word.term} (of {', '.join(word.readings)})"
        lines.append(f"    {word.weight:<8.4g} {word.word}{read_as}   {', '.join(notes)}")
    return lines
