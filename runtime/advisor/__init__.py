"""The capability advisor: reads each prompt and, rarely, tells the model which tools fit.

The pure core: `advisor.py` (consider, fired, tool_use, end_turn) over `tokens`, `paths`, `envelopes`, `script`,
`fingerprint` (the index), `scoring`, `lanes`, `heat`, `smoke`, `episodes`, `echoes`, `ash`, `rendering`;
`replay.py` from a branch to the durable state. The shell: `service.py`. For people: `explain`, `explain_text`,
`history`, `plot`, `plot_page`, `recorded` (files), `scenarios`. Constants that derive from q and tau stand in
`constants.py`, limits of text and format in `limits.py`.
"""
