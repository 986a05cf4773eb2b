"""What a guest process loads, and what both sides of the wall must agree on.

`levels` and `bounds` (the algebra of thinking levels), `values` (what may cross, exactly), `wire` (the frames),
`errors` (what a program may catch), `thinking`, `agents`, `tools` and `proxies` (what a program calls), `inside` (the
machinery under the program: zygote, confinement, compile policy, scheduler).
It loads the standard library, msgspec and RestrictedPython, and nothing of the other rooms.
"""
