import { systemEnvironment } from "percolatordb";
import { expect, test } from "vitest";
import type { Connections } from "../wire/connections.js";
import { GatheredReads } from "./gathered-reads.js";

/** Connections whose queries are answered by hand, with no cells. */
class HeldConnections {
  readonly environment = { ...systemEnvironment, monotonic: () => this.now };
  readonly place = "here";
  now = 0;
  /** For each query, how many columns it asks for. */
  readonly asked: number[] = [];
  readonly #held: (() => void)[] = [];

  deadline(): number {
    return this.now + 10;
  }

  repeat(_query: unknown, values: readonly unknown[]): Promise<readonly never[]> {
    // The length of an array in the binary format.
    this.asked.push((values[0] as Buffer).readInt32BE(12));
    return new Promise((resolve) => this.#held.push(() => resolve([])));
  }

  /** Answers the oldest query, and lets what follows from that happen. */
  async answer(): Promise<void> {
    this.#held.shift()!();
    await turn();
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

function start() {
  const held = new HeldConnections();
  const reads = new GatheredReads(held as unknown as Connections, "s");
  let answered = 0;
  const read = (count: number) => {
    for (let row = 0; row < count; row++) {
      const wanted = { table: 1, row: Buffer.from([row]), columns: [Buffer.from("c")], at: 1 };
      void reads.read(wanted, undefined).then(() => answered++);
    }
    return turn();
  };
  return { held, read, answered: () => answered };
}

test("a read is sent at once, and those that meet a query under way share the next one", async () => {
  const { held, read, answered } = start();
  await read(1);
  expect(held.asked).toEqual([1]);
  await read(10);
  await read(10);
  expect(held.asked).toEqual([1]);
  await held.answer();
  expect(held.asked).toEqual([1, 20]);
  await held.answer();
  expect(answered()).toBe(21);
  await read(1);
  expect(held.asked).toEqual([1, 20, 1]);
});

test("if many wait, more queries are sent beside, at most four", async () => {
  const { held, read, answered } = start();
  for (const count of [1, 31]) await read(count);
  expect(held.asked).toEqual([1]);
  await read(1);
  expect(held.asked).toEqual([1, 32]);
  for (const count of [64, 96]) await read(count);
  expect(held.asked).toEqual([1, 32, 64, 96]);
  await read(400);
  expect(held.asked).toHaveLength(4);
  for (let query = 0; query < 5; query++) await held.answer();
  expect(held.asked).toEqual([1, 32, 64, 96, 400]);
  expect(answered()).toBe(593);
});

test("a read that waits for another one until its deadline fails, and is not sent", async () => {
  const { held } = start();
  const reads = { table: 1, row: Buffer.from("r"), columns: [Buffer.from("c")], at: 1 };
  const gathered = new GatheredReads(held as unknown as Connections, "s");
  void gathered.read(reads, undefined);
  await turn();
  const late = expect(gathered.read(reads, undefined)).rejects.toMatchObject({
    code: "STORE",
    retryable: true,
  });
  held.now = 10;
  await held.answer();
  await late;
  expect(held.asked).toEqual([1]);
});
