import { readFile } from "node:fs/promises";
import { open } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import { expect, test } from "vitest";
import { startPostgres } from "../../../examples/support/postgres-server.js";
import { placeAt } from "../../support/postgres/index.js";
import { ProgramProcess } from "../../support/program-process.js";
import { pause } from "../../support/waiting.js";
import { Shop, sums } from "./shop.js";

/** With a million, the figures of docs/decisions/attached-tables.md. */
const rows = Number(process.env.BULK_ROWS ?? 105_000);
/** A piece has 100,000 rows at most, however many the transaction has. */
const maxMiB = 1_200;

/** The most memory that a process has had, in MiB. */
async function peakMiB({ pid }: { readonly pid: number | undefined }): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s*(\d+) kB/.exec(status)![1]) / 1_024;
}

test(`one statement changes ${rows} rows while others write, and the worker is killed in the middle`, async () => {
  const server = await startPostgres({ settings: ["fsync=off", "max_wal_size=4GB"] });
  let isOver = false;
  try {
    await using shop = await Shop.at(placeAt(server.host, "bulk"));
    const { orders } = shop.declare();
    const location = `${shop.place.location}&deadlineMs=60000`;
    const startWorker = async () => {
      const args = [shop.place.location, shop.schema, shop.place.host, "only-moves"];
      const child = new ProgramProcess("test/postgres/attach/worker-child.ts", args);
      await child.said((line) => line === "ready");
      return child;
    };
    await shop.sql(`insert into T.orders select i, null, i from generate_series(1, ${rows}) i`);
    const db = await open(location, { tables: [orders, sums] });
    await attachTables(db, [orders]);
    await db.drain();
    let written = 0;
    // The same table: old rows and new ones. A failure of a writer fails the test.
    const write = async () => {
      for (let i = 1; !isOver; i++) {
        await shop.sql("insert into T.orders values ($1, 'w', 1)", [rows + i]);
        await shop.sql("update T.orders set customer = $2 where id = $1", [(i * 7_919) % rows, `w${i}`]);
        written += 2;
        await pause(2);
      }
    };
    const began = performance.now();
    const bulk = shop.sql("update T.orders set total = total + 1 where id <= $1", [rows]);
    const writing = bulk.then(write);
    writing.catch(() => undefined);
    let worker = await startWorker();
    await bulk;
    const sqlMs = performance.now() - began;
    const movedFrom = performance.now();
    const isChanged = (id: number) =>
      db.transact(async (tx) => (await tx.get(orders.total, [id])) === id + 1);
    // Killed after its first piece, and before its last.
    const isReached = (id: number) => expect.poll(() => isChanged(id), { timeout: 600_000 }).toBe(true);
    await isReached(1);
    const peaks = [await peakMiB(worker)];
    await worker.kill();
    worker = await startWorker();
    await isReached(rows);
    const movedMs = performance.now() - movedFrom;
    const during = written;
    await expect.poll(() => written).toBeGreaterThan(during);
    isOver = true;
    await writing;
    await expect.poll(() => shop.pending(), { timeout: 600_000 }).toBe(0);
    peaks.push(await peakMiB(worker));
    await worker.kill();
    process.stdout.write(
      `${rows} rows: SQL ${(sqlMs / 1_000).toFixed(1)} s, moved after ${(movedMs / 1_000).toFixed(1)} s, ` +
        `${during} writes meanwhile, peak ${Math.max(...peaks).toFixed(0)} MiB\n`,
    );
    expect(Math.max(...peaks)).toBeLessThan(maxMiB);
    const wrong: number[] = [];
    const expected = await shop.sql("select id, customer, total from T.orders order by id");
    let at = 0;
    await using snapshot = await db.snapshot();
    for await (const { row, value } of snapshot.scan(orders)) {
      const { id, customer, total } = expected[at++] ?? {};
      const isSame = id === row[0] && total === value.total && (customer ?? undefined) === value.customer;
      if (!isSame) wrong.push(row[0]);
    }
    expect(at).toBe(expected.length);
    expect(wrong).toEqual([]);
    // Arrived once: the copied version, and the changed one.
    for (const id of [1, rows / 2, rows]) expect(await db.history(orders.total, [id])).toHaveLength(2);
    await db.close();
  } finally {
    isOver = true;
    await server.stop();
  }
}, 1_800_000);
