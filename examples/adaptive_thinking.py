# Raise the session's effort for the hard step of a job, and drop back for the easy ones.
#
#     pi-fabric run examples/adaptive_thinking.py --allow write
#
# You will see: the level rise to high for the proof step and come back to the baseline, once by
# `thinking.reset()`, and once by itself when the run ends (scope "turn" lasts for this run only).
from dataclasses import dataclass


@dataclass
class Step:
    name: str
    hard: bool


async def work(step: Step) -> str:
    status = await thinking.status()
    print(f"{step.name}: effort {status.level}")
    return status.level


steps = [Step("read the claim", hard=False), Step("prove the lemma", hard=True), Step("write it up", hard=False)]
before = await thinking.status()
print(f"baseline {before.baseline}, available {', '.join(before.available)}")

levels = {}
for step in steps:
    if step.hard:
        raised = await thinking.set(level="high", reason=step.name)
        if raised.get("clamped"):
            print(f"asked for {raised.requested}, got {raised.level}")
    levels[step.name] = await work(step)
    if step.hard:
        await thinking.reset()

# Left raised on purpose: the host takes it back when this run ends.
await thinking.set(level="low", reason="tidy up")
return {"levels": levels, "left at": (await thinking.status()).level}
