"""The wall: what crosses between a guest and the host, and what is decided as it crosses.

A call's way, file by file: `conversation` (frames in, events out), `guest_process` (one program to its end),
`run_outcome` (what became of it), `admission` (the ordered path), `registry` (who answers), `decoding`, `arguments`
and `argument_errors` (what was sent, in plain words), `schema_gate`, `approvals`, `approval_rules`, `approval_prompt`
(may it run), `trace` (what happened), `results` (what is shown).
What is offered: `descriptor`, `actions` (a function as an action), `discovery`, `mcp`.
Everything that is JSON text, on disk or from another process, is read and written by `strict_json`.
The guest's process: `confinement_plan`, `zygote_client`, `zygote_process`, `isolation_probe`.
`testing` has a guest in memory.

It knows no thinking, no session and no child: handlers are handed in. Importing the room loads none of its modules.
"""
