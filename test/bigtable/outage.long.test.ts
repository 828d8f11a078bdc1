import { int, observer, open, table } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { expect, test } from "vitest";
import { bigtableLocation, openOnEmulator } from "../support/databases.js";
import { startEmulator } from "../support/emulator/index.js";
import { NetworkProxy } from "../support/proxy/index.js";
import { pause, until } from "../support/waiting.js";

const accounts = table("accounts", { balance: int(), seen: int() });
const names = Array.from({ length: 300 }, (_, i) => `account${String(i).padStart(3, "0")}`);
const seen = observer("seen", accounts.balance, (tx, { row, value }) =>
  tx.set(accounts.seen, row, value ?? 0),
);
const declared = { tables: [accounts], observers: [seen] };

/** The outcomes of calls during an outage. */
class Calls {
  readonly failures: string[] = [];
  ended = 0;
  readonly #running: Promise<void>[] = [];
  #isOver = false;

  /** Repeats the call until the test ends. */
  repeat(name: string, call: () => Promise<unknown>): void {
    const run = async () => {
      while (!this.#isOver) await this.once(name, call);
    };
    this.#running.push(run());
  }

  async once(name: string, call: () => Promise<unknown>): Promise<void> {
    try {
      await call();
      this.ended++;
    } catch (error) {
      this.failures.push(`${name}: ${error instanceof Error ? `${error.name} ${error.message}` : error}`);
    }
    // Lets other calls run.
    await pause(1);
  }

  async over(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }
}

/**
 * Runs transactions, snapshots, collections and an observer's worker, during an outage that
 * `during` causes.
 */
async function through(during: (proxy: NetworkProxy, stop: (ms: number) => Promise<void>) => Promise<void>) {
  await using emulator = await startEmulator();
  await using proxy = await NetworkProxy.start(emulator.host);
  await using db = await openOnEmulator(proxy.address, declared);
  const worker = db.work();
  await db.transact((tx) => {
    for (const name of names) tx.set(accounts.balance, name, 100);
  });
  const calls = new Calls();
  let turn = 0;
  const committed = new Map<string, number>();
  calls.repeat("transfer", async () => {
    const [from, to] = [names[turn % 300]!, names[(turn * 7 + 1) % 300]!];
    turn++;
    if (from === to) return;
    await db.transact(
      async (tx) => {
        const [left, right] = [await tx.get(accounts.balance, from), await tx.get(accounts.balance, to)];
        tx.set(accounts.balance, from, left! - 1);
        tx.set(accounts.balance, to, right! + 1);
      },
      { timeoutMs: 300_000 },
    );
  });
  calls.repeat("increment", async () => {
    await db.transact(async (tx) => {
      const key = "counter";
      tx.set(accounts.balance, key, ((await tx.get(accounts.balance, key)) ?? 0) + 1);
    });
    committed.set("counter", (committed.get("counter") ?? 0) + 1);
  });
  calls.repeat("scan", async () => {
    const sum = await db.transact(async (tx) => {
      let sum = 0;
      for await (const { row, value } of tx.scan(accounts.balance)) if (row !== "counter") sum += value;
      return sum;
    });
    expect(sum).toBe(30_000);
  });
  calls.repeat("collection", () => db.collect());
  const snapshot = await db.snapshot();
  calls.repeat("snapshot", async () => {
    let sum = 0;
    for await (const { row, value } of snapshot.scan(accounts.balance)) if (row !== "counter") sum += value;
    expect(sum).toBe(30_000);
  });
  await pause(500);
  await during(proxy, async (ms) => {
    emulator.signal("SIGSTOP");
    const opening = calls.once("open", async () => {
      const store = await openBigtableStore(bigtableLocation, { emulatorHost: proxy.address });
      await using other = await open(store, declared);
      await other.transact((tx) => tx.get(accounts.balance, names[0]!));
    });
    await pause(ms);
    emulator.signal("SIGCONT");
    await opening;
  });
  const { ended } = calls;
  expect(await until(() => calls.ended > ended + 20)).toBe(true);
  await calls.over();
  await snapshot.close();
  expect(calls.failures).toEqual([]);
  await db.drain();
  await worker.stop();
  await using last = await db.snapshot();
  expect(await last.get(accounts.balance, "counter")).toBe(committed.get("counter"));
  let unseen = 0;
  for await (const { row, value } of last.scan(accounts.balance)) {
    if ((await last.get(accounts.seen, row)) !== value) unseen++;
  }
  expect(unseen).toBe(0);
  const problems = [];
  for (const problem of await db.check()) problems.push(problem);
  expect(problems).toEqual([]);
}

test.each([20_000, 55_000])(
  "if the store is paused for %i ms, no call fails that had time left",
  async (ms) => {
    await through((_, stop) => stop(ms));
  },
  400_000,
);

test("if connections are cut repeatedly, no call fails that had time left", async () => {
  await through(async (proxy) => {
    for (let cuts = 0; cuts < 40; cuts++) {
      const way = cuts % 2 === 0 ? "up" : "down";
      if (cuts % 4 === 3) {
        proxy.refuse();
        proxy.cut();
        await pause(500);
        proxy.heal();
      } else await proxy.cutAtCall(way);
      await pause((cuts * 37) % 150);
    }
  });
}, 300_000);

test("a store that was replaced by an empty one is reported by a named error, and nothing is created in it", async () => {
  const first = await startEmulator();
  await using proxy = await NetworkProxy.start(first.host);
  const db = await openOnEmulator(proxy.address, declared);
  await db.transact((tx) => tx.set(accounts.balance, "a", 1));
  await using second = await startEmulator();
  proxy.target = second.host;
  first.signal("SIGKILL");
  proxy.cut();
  const failure = await db
    .transact((tx) => tx.get(accounts.balance, "a"), { timeoutMs: 60_000 })
    .then(
      () => undefined,
      (error: unknown) => error as { code: string; retryable: boolean; message: string },
    );
  expect(failure).toMatchObject({ code: "STORE", retryable: false });
  await db.close();
  const store = await openBigtableStore(bigtableLocation, { emulatorHost: second.host, create: false });
  expect(
    (
      await store.readRow({
        table: "accounts",
        row: Buffer.from("a"),
        columns: [{ start: Buffer.from(""), end: undefined }],
        at: 9,
      })
    ).cells,
  ).toEqual([]);
  await store.close();
  await first.stop();
}, 200_000);
