"""The branch transcript store: one append-only session file in Pi's format, shared by every service.

- `entries` one entry, bytes kept; `branch` entries in an order; `header` line one
- `tree` ids, leaf, branch, damage of the shape; `scan` bytes to tree in one pass; `damage` what was found
- `deep_lines` lines nested too deeply for the decoders; `beginning` a file that is not there yet
- `read_back` what others wrote, written again
- `sources` raw lines on demand; `line_file` the one write path; `writer_guard` one writer at a time
- `store` all of it behind one object; `copies` fork and clone; `migrate` v1 and v2; `folder` where sessions live
- `model_view` what a model may be shown; `outline` the tree for people
"""
