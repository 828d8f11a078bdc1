import { fork } from "node:child_process";
import type { Database } from "percolatordb";
import { nodeOptionsFor } from "../../threads/thread-pool.js";
import type { Source } from "../sources/index.js";
import { compareWithTwin, type TableVerdict } from "./compare.js";

/** The result of a comparison with the twin. */
export interface Verification {
  readonly verdicts: readonly TableVerdict[];
  /**
   * The most anonymous memory that the comparison used, in bytes. `undefined` if it ran in this
   * process or if that is unknown.
   */
  readonly memory: number | undefined;
}

/** The child process's answer. */
export type VerifyAnswer = Verification | { readonly failure: string };

export interface VerifyOptions {
  /** The path of the last loaded source, as it was opened. Default: no source is compared. */
  readonly source?: Source | undefined;
  /** The base with which it was opened. */
  readonly base?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Compares a settled index with its twin, and with the last loaded source. It runs in a separate
 * process with its own heap, unless the index is in this process's memory.
 */
export async function verifyIndex(
  db: Database,
  location: string,
  { source, base, signal }: VerifyOptions = {},
): Promise<Verification> {
  if (location.startsWith("memory:")) {
    await using view = await db.snapshot();
    return { verdicts: await compareWithTwin(view, { source, signal }), memory: undefined };
  }
  const answer = await askChild([location, ...(source === undefined ? [] : [source.path])], base, signal);
  if ("failure" in answer)
    throw new Error(`The index could not be compared with its twin: ${answer.failure}`);
  return answer;
}

function askChild(
  args: readonly string[],
  base: string | undefined,
  signal: AbortSignal | undefined,
): Promise<VerifyAnswer> {
  const own = import.meta.url;
  const script = new URL(own.endsWith(".ts") ? "./child.ts" : "./child.js", own);
  const isLoading = process.execArgv.some((option) => option.includes("tsx"));
  const execArgv = [...process.execArgv, ...(isLoading ? [] : nodeOptionsFor(script))];
  return new Promise((resolve, reject) => {
    const all = base === undefined ? args : [...args, base];
    const child = fork(script, all, { execArgv, ...(signal === undefined ? {} : { signal }) });
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
