import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Database } from "percolatordb";
import { compareWithTwin, type TableVerdict } from "./compare.js";

/** What a comparison with the twin found. */
export interface Verification {
  readonly verdicts: readonly TableVerdict[];
  /** The most anonymous memory that it took, in bytes, if it had a process of its own and that is known. */
  readonly memory: number | undefined;
}

/** What the child process sends. */
export type VerifyAnswer = Verification | { readonly failure: string };

/**
 * Compares a settled index with its twin: in a process of its own, as the twin holds all pages in memory; in this one
 * where the index is itself in this one's memory.
 */
export async function verifyIndex(
  db: Database,
  location: string,
  signal?: AbortSignal,
): Promise<Verification> {
  if (location.startsWith("memory:")) {
    await using view = await db.snapshot();
    return { verdicts: await compareWithTwin(view, signal), memory: undefined };
  }
  const answer = await askChild(location, signal);
  if ("failure" in answer)
    throw new Error(`The index could not be compared with its twin: ${answer.failure}`);
  return answer;
}

function askChild(location: string, signal: AbortSignal | undefined): Promise<VerifyAnswer> {
  const own = import.meta.url;
  const script = fileURLToPath(new URL(own.endsWith(".ts") ? "./child.ts" : "./child.js", own));
  return new Promise((resolve, reject) => {
    const child = fork(script, [location], { ...(signal === undefined ? {} : { signal }) });
    let answer: VerifyAnswer | undefined;
    child.once("message", (message) => {
      answer = message as VerifyAnswer;
    });
    child.once("error", reject);
    child.once("exit", (code, killedBy) => {
      resolve(answer ?? { failure: `its process ended by ${killedBy ?? `exit code ${code}`}` });
    });
  });
}

/** Whether every table was equal. */
export function isEqual({ verdicts }: Verification): boolean {
  return verdicts.every(({ different }) => different === 0);
}
