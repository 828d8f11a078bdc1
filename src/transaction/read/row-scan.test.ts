import { beforeEach, expect, test } from "vitest";
import { DistantTestStore, distantContext } from "../../../test/support/distant-store.js";
import { int, table } from "../../schema/index.js";
import { StepHooks } from "../../testing/index.js";
import type { TransactionContext } from "../context.js";
import { CoreTransaction } from "../core.js";
import { transact } from "../transact.js";
import { Transaction } from "../transaction.js";

const numbers = table("numbers", { value: int() });
const rowOf = (index: number) => String(index).padStart(4, "0");

let store: DistantTestStore;
let context: TransactionContext;
let hooks: StepHooks;

beforeEach(async () => {
  store = new DistantTestStore();
  hooks = new StepHooks();
  context = distantContext(store, hooks);
  await transact(context, (tx) => {
    for (let index = 0; index < 600; index++) tx.set(numbers.value, rowOf(index), index);
  });
  await context.background.settled();
});

async function begin(isolation: "snapshot" | "serializable" = "snapshot"): Promise<Transaction> {
  return new Transaction(await CoreTransaction.begin(context, { isolation }));
}

async function take(tx: Transaction, count: number, limit?: number): Promise<number[]> {
  const taken: number[] = [];
  for await (const { value } of tx.scan(numbers.value, { limit })) {
    taken.push(value);
    if (taken.length === count) break;
  }
  return taken;
}

test("a scan prefetches one page, once the caller has reached the second", async () => {
  await using tx = await begin();
  expect(await take(tx, 32)).toHaveLength(32);
  expect(store.scans.map(({ limit }) => limit)).toEqual([32]);
  store.scans.length = 0;
  expect(await take(tx, 33)).toHaveLength(33);
  expect(store.scans.map(({ limit }) => limit)).toEqual([32, 128, 250]);
});

test("a scan sees every row once, and its own writes until it reaches them", async () => {
  await using tx = await begin();
  const seen: number[] = [];
  for await (const { row, value } of tx.scan(numbers.value)) {
    seen.push(value);
    // The page with the last rows is requested long before it is reached.
    if (row === rowOf(200)) tx.set(numbers.value, rowOf(599), -1);
  }
  expect(seen.slice(0, 599)).toEqual(Array.from({ length: 599 }, (_, index) => index));
  expect(seen[599]).toBe(-1);
});

test("a scan with a limit requests nothing beyond it", async () => {
  await using tx = await begin();
  expect(await take(tx, 1_000, 300)).toHaveLength(300);
  expect(store.scans.map(({ limit }) => limit)).toEqual([250, 250]);
});

test("locks on a page that is never reached affect no transaction", async () => {
  const pause = hooks.pauseBefore("commit-primary");
  const writing = transact(context, (tx) => tx.set(numbers.value, rowOf(300), 0));
  await pause.reached;
  await using tx = await begin();
  await take(tx, 33);
  await new Promise((resolve) => setImmediate(resolve));
  expect(hooks.count("push")).toBe(0);
  expect((await take(tx, 600))[300]).toBe(300);
  expect(hooks.count("push")).toBe(1);
  pause.resume();
  await writing;
});

test("a serializable scan counts as far as it was read, not as far as it was prefetched", async () => {
  const tx = await begin("serializable");
  tx.set(numbers.value, "total", (await take(tx, 33)).length);
  await transact(context, (other) => other.set(numbers.value, rowOf(300), 0));
  await tx.commit();
  expect(store.scans.some(({ start }) => `${start?.row ?? ""}` >= rowOf(160))).toBe(true);
});
