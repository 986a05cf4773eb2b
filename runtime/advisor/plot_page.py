"""A page of its own around a picture: the picture and a table of the turns. It draws nothing."""

import html
from collections.abc import Sequence

from host_bridge.neutral_text import neutralise
from runtime.advisor.fingerprint import label
from runtime.advisor.history import Turn


def html_page(svg: str, turns: Sequence[Turn], title: str) -> str:
    """A page of its own with the picture and a table of the turns."""
    rows = []
    for number, turn in enumerate(turns, 1):
        hottest = sorted(turn.heat.items(), key=lambda item: -item[1])[:3]
        rows.append(
            "<tr>"
            + "".join(
                f"<td>{html.escape(neutralise(cell, keep_newlines=True))}</td>"
                for cell in (
                    str(number),
                    turn.prompt if len(turn.prompt) <= 400 else turn.prompt[:399] + "…",
                    f"{turn.register}: {', '.join(turn.fired)}" if turn.fired else "",
                    ", ".join(turn.used),
                    ", ".join(f"{label(namespace)} {heat:.3g}" for namespace, heat in hottest),
                    f"{turn.fire_point:.4g}",
                )
            )
            + "</tr>"
        )
    start = svg.find("<svg")
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{html.escape(neutralise(title))}</title>\n'
        "<style>body{font:14px/1.45 system-ui,sans-serif;color:#333;margin:2rem auto;max-width:75rem;padding:0 1rem}"
        "svg{max-width:100%;height:auto}table{border-collapse:collapse;width:100%}"
        "th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #e4e1dc}"
        "th{font-weight:600}</style>\n"
        f"{svg[start:]}\n<table><tr><th>turn</th><th>prompt</th><th>hint</th><th>tools called</th>"
        f"<th>heat</th><th>fire point</th></tr>\n{chr(10).join(rows)}\n</table></html>\n"
    )
