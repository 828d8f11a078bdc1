/** One side of the comparison, in a process of its own. */
import { type Database, open } from "percolatordb";
import { serve } from "../harness/child.js";
import { cpuSeconds } from "../harness/usage.js";
import {
  clusters,
  contentsOf,
  derive,
  documentOf,
  documents,
  hashOf,
  partsOf,
  type Shape,
} from "./tables.js";

/**
 * - `load`: a bulk load of both tables.
 * - `observers`: transactions that store documents, and an observer that makes the rest.
 * - `transactions`: transactions that store a document and what is derived from it. No observer.
 */
export type Side = "load" | "observers" | "transactions";

export interface Task extends Shape {
  readonly folder: string;
  readonly side: Side;
}

export interface Found {
  readonly seconds: number;
  /** Processor time of all threads. */
  readonly cpuSeconds: number;
  /** Rows of both tables that a program can see afterwards. */
  readonly rows: number;
  /** Changes that still wait for the observer. */
  readonly due: number;
}

/** Transactions that run at the same time. */
const concurrency = 1_000;

serve({
  async measure({ folder, side, ...shape }: Task): Promise<Found> {
    const observers = side === "transactions" ? [] : [derive];
    await using db = await open(folder, { tables: [documents, clusters], observers });
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    if (side === "load") await db.load("documents", partsOf(shape));
    else await store(db, shape, side === "transactions");
    if (side === "observers") await db.drain();
    const used = { seconds: (performance.now() - began) / 1_000, cpuSeconds: cpuSeconds(cpu) };
    return { ...used, rows: await countRows(db), due: await countDue(db) };
  },
});

async function store(db: Database, shape: Shape, withDerived: boolean): Promise<void> {
  let next = 0;
  const client = async () => {
    for (let index = next++; index < shape.rows; index = next++) {
      const [row, contents] = [documentOf(index), contentsOf(index, shape)];
      await db.transact((tx) => {
        tx.set(documents.contents, row, contents);
        if (!withDerived) return;
        const hash = hashOf(contents);
        tx.set(documents.hash, row, hash);
        tx.set(clusters.length, hash, contents.length);
      });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, client));
}

async function countRows(db: Database): Promise<number> {
  await using snapshot = await db.snapshot();
  let count = 0;
  for await (const _ of snapshot.scan(documents.hash)) count++;
  for await (const _ of snapshot.scan(clusters.length)) count++;
  return count;
}

async function countDue(db: Database): Promise<number> {
  let count = 0;
  for await (const _ of db.pending()) count++;
  return count;
}
