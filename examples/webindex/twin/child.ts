/** The batch twin in a process of its own: `child.ts LOCATION`. Tells its parent what it found. */
import { open } from "percolatordb";
import { MemoryWatch } from "../load/memory.js";
import { compareWithTwin } from "./compare.js";
import type { VerifyAnswer } from "./verify.js";

async function verify(location: string): Promise<VerifyAnswer> {
  const memory = new MemoryWatch();
  await using db = await open(location, { collectEveryMs: 0 });
  await using view = await db.snapshot();
  const verdicts = await compareWithTwin(view);
  return { verdicts, memory: memory.highest };
}

const answer = await verify(process.argv[2]!).catch((error: unknown): VerifyAnswer => {
  return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
});
process.send?.(answer, () => process.disconnect());
