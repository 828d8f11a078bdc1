/** A storm of SQL writes by several connections, which know nothing of this library. */
import type { Pool } from "pg";
import { type Action, actions } from "./actions.js";
import { type Random, randomFrom } from "./random.js";
import { transact } from "./sql.js";

export interface StormOptions {
  readonly milliseconds: number;
  /** Seed of the random choices. Their interleaving is not repeated. */
  readonly seed: number;
  readonly connections: number;
  /** Ends the storm before its time when it is aborted. */
  readonly signal: AbortSignal;
}

export interface StormReport {
  /** Committed transactions by action. */
  readonly committed: ReadonlyMap<string, number>;
  /** Transactions that the server refused: deadlocks, and keys that exist or are referred to. */
  readonly refused: number;
}

/** With 6 connections, about 200 transactions a second. */
const maxPauseMs = 50;
/** Deadlock, unique and foreign keys. */
const expected: ReadonlySet<unknown> = new Set(["40P01", "23505", "23503"]);

/** Runs random transactions until the time is over. */
export async function storm(pool: Pool, options: StormOptions): Promise<StormReport> {
  const committed = new Map<string, number>(actions.map(({ name }) => [name, 0]));
  let refused = 0;
  const end = performance.now() + options.milliseconds;
  const write = async (random: Random) => {
    while (performance.now() < end && !options.signal.aborted) {
      const action = random.choose(actions);
      if (await run(pool, action, random)) committed.set(action.name, committed.get(action.name)! + 1);
      else refused++;
      await new Promise((resolve) => setTimeout(resolve, random.below(maxPauseMs)));
    }
  };
  const writers = Array.from({ length: options.connections }, (_, n) => write(randomFrom(options.seed + n)));
  await Promise.all(writers);
  return { committed, refused };
}

/** Runs each action once, one after the other. */
export async function eachActionOnce(pool: Pool, seed: number): Promise<void> {
  const random = randomFrom(seed);
  for (const action of actions) await run(pool, action, random);
}

/** Resolves to whether the transaction committed. */
async function run(pool: Pool, { name, run }: Action, random: Random): Promise<boolean> {
  try {
    await transact(pool, (client) => run(client, random));
    return true;
  } catch (error) {
    if (expected.has((error as { code?: unknown }).code)) return false;
    throw new Error(`The storm's action "${name}" failed: ${(error as Error).message}`, { cause: error });
  }
}
