import { int, json, type Transaction, table } from "percolatordb";
import type { RecordedDatabase } from "percolatordb/testing";
import type { Random } from "../crash/random.js";
import { pause } from "../support/waiting.js";
import type { Element, Micro, Workload } from "./operations.js";

export const lists = table("lists", { elements: json<number[]>() });
export const registers = table("registers", { value: int() });

/** The number of keys in use at a time. */
const keyCount = 8;
/** The time after which new keys replace the keys in use, because lists must not grow too long. */
const keysLastMs = 500;
/**
 * How often, in percent, an operation uses a key that newer keys have already replaced. Its list or
 * register must still be correct.
 */
const oldKeysPercent = 5;

/** Draws a key that is in use at a time of the run. */
function keyAt(elapsedMs: number, random: Random): number {
  const epoch = Math.floor(Math.max(elapsedMs, 0) / keysLastMs);
  const isOld = epoch > 0 && random.chance(oldKeysPercent / 100);
  return (isOld ? random.below(epoch) : epoch) * keyCount + random.below(keyCount);
}

/** Returns all keys that may have been used until a time of the run. */
export function keysUntil(elapsedMs: number): readonly number[] {
  return Array.from({ length: (Math.floor(elapsedMs / keysLastMs) + 1) * keyCount }, (_, key) => key);
}

/**
 * Draws a transaction. Its reads have no values yet. `element` returns an element that was never
 * written.
 */
export function drawTransaction(
  workload: Workload,
  elapsedMs: number,
  random: Random,
  element: () => number,
): readonly Micro[] {
  const onlyReads = random.chance(0.25);
  const length = 1 + random.below(4);
  return Array.from({ length }, (): Micro => {
    const key = keyAt(elapsedMs, random);
    if (onlyReads || random.chance(0.45)) return { f: "r", key, value: null };
    return { f: workload === "list-append" ? "append" : "w", key, value: element() };
  });
}

async function read(view: Pick<Transaction, "get">, workload: Workload, key: Element): Promise<Micro> {
  const row = String(key);
  const value =
    workload === "list-append" ? await view.get(lists.elements, row) : await view.get(registers.value, row);
  return { f: "r", key, value: value ?? null };
}

/** Performs a transaction's reads and writes. Returns them with the values that were read. */
export async function perform(
  tx: Transaction,
  workload: Workload,
  micros: readonly Micro[],
  random: Random,
): Promise<readonly Micro[]> {
  const done: Micro[] = [];
  for (const micro of micros) {
    const row = String(micro.key);
    if (micro.f === "r") done.push(await read(tx, workload, micro.key));
    else {
      const value = micro.value as number;
      if (micro.f === "append") {
        tx.set(lists.elements, row, [...((await tx.get(lists.elements, row)) ?? []), value]);
      } else tx.set(registers.value, row, value);
      done.push(micro);
    }
    // Lets other transactions run in between, in this process and others.
    if (random.chance(0.4)) await pause(random.below(3));
  }
  return done;
}

/** Reads through a snapshot, which must be as strict as a transaction. */
export async function readSnapshot(
  db: Pick<RecordedDatabase, "snapshot">,
  workload: Workload,
  micros: readonly Micro[],
): Promise<readonly Micro[]> {
  await using snapshot = await db.snapshot();
  const done: Micro[] = [];
  for (const { key } of micros) done.push(await read(snapshot, workload, key));
  return done;
}
