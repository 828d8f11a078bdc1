import { observer, open, table, text } from "percolatordb";
import { withChildren } from "../harness/child.js";
import { expectValue } from "../harness/compare.js";
import { rowOf, textOf } from "../harness/data.js";
import { pause } from "../harness/pause.js";

const valueBytes = 100;
/** The first samples, which compile code and fill caches, do not count. */
const warmUpSamples = 10;
/** A longer wait means that the observer does not run. */
const patienceMs = 30_000;

const inputs = table("inputs", { contents: text() });
const outputs = table("outputs", { contents: text() });
export const tables = [inputs, outputs];

/** An observer's commit, by the clock of the machine. */
export interface Told {
  readonly row: string;
  readonly at: number;
}

/** An observer that copies each input. `committed` is called after its commit. */
export function observersTelling(committed: (row: string) => void) {
  return [
    observer("copy", inputs.contents, (tx, { row, value }) => {
      if (value === undefined) return;
      tx.set(outputs.contents, row, value);
      tx.onCommit(() => committed(row));
    }),
  ];
}

/** Milliseconds of the machine's monotonic clock, which is the same in all its processes. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * The milliseconds from the call that commits a change here to the answer of the observer's commit
 * in another process, with `everyMs` between the commits. Reads back the copies.
 */
export async function delaysToProcess(
  location: string,
  { samples, everyMs }: { readonly samples: number; readonly everyMs: number },
): Promise<readonly number[]> {
  await using db = await open(location, { tables, observers: observersTelling(() => undefined) });
  const committed = new Map<string, (at: number) => void>();
  const delays = await withChildren(async (start) => {
    const child = start(
      new URL("./postgres-process.ts", import.meta.url),
      "The worker of the case postgres",
      {
        onTold: (told) => {
          const { row, at } = told as Told;
          committed.get(row)?.(at);
        },
      },
    );
    await child.ask("work", location);
    const measured: number[] = [];
    for (let index = 0; index < warmUpSamples + samples; index++) {
      await pause(everyMs);
      const row = rowOf(index);
      const ended = new Promise<number>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`The observer did not commit ${row}.`)), patienceMs);
        committed.set(row, (at) => {
          clearTimeout(late);
          resolve(at);
        });
      });
      const began = machineMs();
      await db.transact((tx) => tx.set(inputs.contents, row, textOf(index, valueBytes)));
      measured.push((await ended) - began);
    }
    return measured.slice(warmUpSamples);
  });
  await using snapshot = await db.snapshot();
  for (let index = 0; index < warmUpSamples + samples; index++)
    expectValue(rowOf(index), await snapshot.get(outputs.contents, rowOf(index)), textOf(index, valueBytes));
  return delays;
}
