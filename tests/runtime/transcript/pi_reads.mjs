// What real Pi makes of session files: node pi_reads.mjs <folder of @earendil-works/pi-coding-agent> FILE...
// Prints one JSON object a line. Give it copies: Pi may add a newline to a file or rewrite an old version.
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";

const [pi, ...files] = process.argv.slice(2);
const { SessionManager } = await import(`${pi}/dist/core/session-manager.js`);
for (const file of files) {
  const skipped = [];
  readFileSync(file, "utf8").split("\n").forEach((line, index) => {
    if (!line.trim()) return;
    try { JSON.parse(line); } catch { skipped.push(index + 1); }
  });
  try {
    const session = SessionManager.open(file, dirname(file));
    console.log(JSON.stringify({
      file: basename(file), leaf: session.getLeafId(), branch: session.getBranch().map((entry) => entry.id),
      entries: session.getEntryCount(), skipped, name: session.getSessionName() ?? null,
      labels: Object.fromEntries([...session.labelsById].sort()),
    }));
  } catch (error) {
    console.log(JSON.stringify({ file: basename(file), refused: String(error.message) }));
  }
}
