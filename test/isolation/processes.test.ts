import { open } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { checkHistory, type History, type RecordedTransaction } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { bigtableLocation } from "../support/databases.js";
import { startEmulator } from "../support/emulator/index.js";
import { newPlace, removePlace } from "../support/postgres/index.js";
import { ProgramProcess } from "../support/program-process.js";
import { things } from "./workload.js";

const runs = Number(process.env.PERCOLATOR_RUNS ?? 1);
const seeds = Array.from({ length: runs }, (_, at) => at + 1);
const processes = 2;

/** The most seeds to try until processes run at the same time, which depends on the machine. */
const maxTries = 5;

describe.each(["Bigtable", "PostgreSQL"] as const)("on %s", (store) => {
  test.each(seeds)(
    "seed %i: a random history of clients in two processes is sound",
    async (seed) => {
      let met = false;
      for (let tries = 0; !met && tries < maxTries; tries++) met = await play(store, seed + tries * runs);
      expect(met, "No two processes came into each other's way").toBe(true);
    },
    600_000,
  );
});

/** Opens a new database, and the place where a child finds it. */
async function openShared(kind: "Bigtable" | "PostgreSQL") {
  if (kind === "PostgreSQL") {
    const place = await newPlace();
    const db = await open(place.location, { tables: [things], collectEveryMs: 0 });
    return { db, place: place.location, remove: () => removePlace(place) };
  }
  const emulator = await startEmulator();
  const store = await openBigtableStore(bigtableLocation, { emulatorHost: emulator.host });
  // All processes use its coordinator.
  const db = await open(store, { tables: [things], collectEveryMs: 0, coordinator: "auto" });
  return { db, place: emulator.host, remove: () => emulator[Symbol.asyncDispose]() };
}

/**
 * Plays and checks a history. Returns whether the processes ran at the same time and some
 * transactions conflicted.
 */
async function play(store: "Bigtable" | "PostgreSQL", seed: number): Promise<boolean> {
  const { db, place, remove } = await openShared(store);
  const children = Array.from(
    { length: processes },
    (_, number) => new ProgramProcess("test/isolation/history-child.ts", [place, `${seed}`, `${number}`]),
  );
  try {
    const answers = async (is: (line: string) => boolean, order?: string) => {
      if (order !== undefined) for (const child of children) child.tell(order);
      await Promise.all(children.map((child) => child.said(is)));
    };
    await answers((line) => line === "ready");
    await answers((line) => line === "done", "go");
    await answers((line) => line.startsWith("{"), "audit");
    const history = join(children.map(({ lines }) => JSON.parse(lines.at(-1)!) as History));
    const report = checkHistory(history);
    expect(report.anomalies, `seed ${seed}`).toEqual([]);
    expect(report.committed, `seed ${seed}`).toBeGreaterThan(50);
    expect(await db.check(), `seed ${seed}`).toEqual([]);
    return overlap(history) && report.conflicted > 0;
  } finally {
    for (const child of children) await child.kill();
    await db.close();
    await remove();
  }
}

/** Joins the records of several processes with a shared clock into one history. */
function join(histories: readonly History[]): History {
  const transactions = histories.flatMap((history, process) =>
    history.transactions.map(
      (transaction): RecordedTransaction => ({
        ...transaction,
        id: transaction.id * processes + process,
        client: `${transaction.client} of process ${process + 1}`,
      }),
    ),
  );
  const audits = histories.map(({ audit }) => audit!);
  const cells = new Map(
    audits.flatMap((audit) => audit.cells.map((cell) => [JSON.stringify(cell.cell), cell] as const)),
  );
  const safepoint = Math.max(...audits.map((audit) => audit.safepoint));
  return { transactions, audit: { safepoint, cells: [...cells.values()] } };
}

/** Whether processes ran at the same time. */
function overlap({ transactions }: History): boolean {
  const spans = [1, 2].map((process) => {
    const own = transactions.filter(({ client }) => client.endsWith(`process ${process}`));
    return [Math.min(...own.map(({ begun }) => begun!)), Math.max(...own.map(({ ended }) => ended ?? 0))];
  });
  return spans[0]![0]! < spans[1]![1]! && spans[1]![0]! < spans[0]![1]!;
}
