/**
 * Runs the batch twin in a separate process: `child.ts LOCATION [SOURCE [BASE]]`. Sends the result
 * to its parent.
 */
import { open } from "percolatordb";
import { MemoryWatch } from "../load/memory.js";
import { openSource } from "../sources/index.js";
import { compareWithTwin } from "./compare.js";
import type { VerifyAnswer } from "./verify.js";

async function verify(location: string, path?: string, base?: string): Promise<VerifyAnswer> {
  const memory = new MemoryWatch();
  const source = path === undefined ? undefined : await openSource(path, { base });
  await using db = await open(location, { collectEveryMs: 0 });
  await using view = await db.snapshot();
  const verdicts = await compareWithTwin(view, { source });
  return { verdicts, memory: memory.highest };
}

// Ends this process when the parent has ended. Nothing else would.
if (process.connected) process.once("disconnect", () => process.exit());
else if (process.send !== undefined) process.exit();

const [location, path, base] = process.argv.slice(2);
const answer = await verify(location!, path, base).catch((error: unknown): VerifyAnswer => {
  return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
});
process.send?.(answer, () => process.disconnect());
