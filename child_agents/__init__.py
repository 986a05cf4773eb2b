"""Processes we start that are not guests, and what they inherit.

A request is read (`request`), decided in one place (`resolver`) and handed to the supervisor (`supervisor`).
The supervisor asks the launcher's warm process (`template`, under its `guardian`) for a worker (`worker`).
The worker starts one child as a runner describes it (`runners`).
The child finds what it inherited (`inheritance`, `inherited_bounds`).
What happened lies on disk (`records`), what a tree used in its `ledger`.
Durable children belong to a resident host (`residency`).
Import the modules: the package itself loads nothing, because the guardian must stay small.
"""
