import { type Database, observer, table, text } from "percolatordb";
import { WrongResultError } from "../harness/compare.js";
import { rowOf, textOf } from "../harness/data.js";
import { pause } from "../harness/pause.js";
import type { RawDatabase } from "../harness/raw.js";
import { type BenchCase, figureOf } from "./bench.js";

const valueBytes = 100;
/** The pause between two samples in milliseconds. After it the database is idle again. */
const pauseMs = 5;
const maxMs = 2;

const inputs = table("inputs", { contents: text() });
const outputs = table("outputs", { contents: text() });

/** Resolvers for the time of an observer's commit, by the row that it wrote. */
const committed = new Map<string, (at: number) => void>();

const copy = observer("copy", inputs.contents, (tx, { row, value }) => {
  if (value === undefined) return;
  tx.set(outputs.contents, row, value);
  tx.onCommit(() => committed.get(row)?.(performance.now()));
});

/**
 * The time from the call that commits a change to the answer of its observer's commit, on an idle
 * database. It is compared with two raw puts, the second after the flush of the first. Two
 * successive commits cannot be faster than these puts.
 */
export const delay: BenchCase = {
  name: "delay",
  about: "from a commit to its observer's commit on an idle database, beside two flushed puts",
  async run(bench) {
    const samples = bench.options.quick ? 150 : 500;
    bench.say("delay from a commit to its observer's commit");
    return bench.withDatabases({ observers: [copy] }, async (db, raw) => {
      const worker = db.work();
      try {
        const ours: number[] = [];
        const flushes: number[] = [];
        for (let index = 0; index < samples + 10; index++) {
          await pause(pauseMs);
          const two = await twoFlushedPuts(raw, index);
          await pause(pauseMs);
          const one = await observedCommit(db, index);
          if (index < 10) continue;
          flushes.push(two);
          ours.push(one);
        }
        await verify(db, samples + 10);
        return { comparisons: [], figures: figures(ours, flushes) };
      } finally {
        await worker.stop();
      }
    });
  },
};

function figures(ours: readonly number[], flushes: readonly number[]) {
  // Each sample is compared with the puts measured next to it, so that other users of the disk
  // disturb both alike.
  const beyond = ours.map((ms, index) => ms - flushes[index]!);
  return [
    figureOf("two flushed puts, one after the other", "ms", flushes),
    figureOf("commit to its observer's commit", "ms", ours),
    figureOf("commit to its observer's commit, beyond two flushed puts", "ms", beyond, maxMs),
  ];
}

async function observedCommit(db: Database, index: number): Promise<number> {
  const row = rowOf(index);
  const value = textOf(index, valueBytes);
  const done = new Promise<number>((resolve) => {
    committed.set(row, resolve);
  });
  const started = performance.now();
  await db.transact((tx) => tx.set(inputs.contents, row, value));
  const ended = await done;
  committed.delete(row);
  return ended - started;
}

async function twoFlushedPuts(raw: RawDatabase, index: number): Promise<number> {
  const table = raw.table("puts");
  const value = Buffer.from(textOf(index, valueBytes));
  const started = performance.now();
  await raw.commit([[{ table, key: Buffer.from(`${rowOf(index)} input`), value }]]);
  await raw.commit([[{ table, key: Buffer.from(`${rowOf(index)} output`), value }]]);
  return performance.now() - started;
}

async function verify(db: Database, count: number): Promise<void> {
  await using snapshot = await db.snapshot();
  for (let index = 0; index < count; index++) {
    if ((await snapshot.get(outputs.contents, rowOf(index))) === textOf(index, valueBytes)) continue;
    throw new WrongResultError(`The observer did not write row ${rowOf(index)}.`);
  }
}
