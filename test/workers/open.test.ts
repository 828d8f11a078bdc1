import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type Database, int, observer, open, table, text } from "percolatordb";
import { describe, expect, test, vi } from "vitest";
import { type Environment, systemEnvironment } from "../../src/environment/index.js";
import { OracleLeader } from "../../src/oracle/index.js";
import { temporaryFolder } from "../support/databases.js";
import { countingOracle, SharedStore } from "./shared-store.js";

const documents = table("documents", { contents: text(), length: int() });
const lengths = observer("lengths", documents.contents, (tx, { row, value }) =>
  tx.set(documents.length, row, value?.length ?? 0),
);

/** A coordinator whose lease never expires by itself, whatever delays the machine has. */
const auto = { start: true, leaseMs: 3_600_000 } as const;

/** An environment with fast time, so that no test waits for as long as a process has patience. */
const hurried: Environment = {
  ...systemEnvironment,
  monotonic: () => systemEnvironment.monotonic() * 10,
  setTimer: (callback, delayMs, options) => systemEnvironment.setTimer(callback, delayMs / 10, options),
};

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Resolves when the coordinator has this many sessions. */
const knows = (db: Database, sessions: number) =>
  vi.waitFor(async () => expect((await db.status()).coordinator?.sessions?.size).toBe(sessions), {
    timeout: 60_000,
    interval: 20,
  });

describe("a store without its own counter", () => {
  test("the first process starts a coordinator, the others find it by the lease", async () => {
    const store = new SharedStore();
    await using first = await store.open({ coordinator: auto, observers: [lengths] });
    await using second = await store.open({ observers: [lengths] });
    const { coordinator } = await second.status();
    expect(coordinator).toMatchObject({ answers: true, epoch: 1, sessions: new Set(), busy: new Set() });
    expect(coordinator?.leader).toMatch(/^127\.0\.0\.1:\d+$/);
    await using worker = first.work();
    await second.transact((tx) => tx.set(documents.contents, "a", "abc"));
    await second.drain();
    expect(await second.transact((tx) => tx.get(documents.length, "a"))).toBe(3);
    await knows(second, 2);
    const status = await second.status();
    expect([...status.sessions.keys()].every((each) => status.coordinator?.sessions?.has(each))).toBe(true);
    expect(worker.observers).toEqual(["lengths"]);
  });

  test("the address can be given", async () => {
    const store = new SharedStore();
    await using first = await store.open({ coordinator: auto });
    const { leader } = (await first.status()).coordinator!;
    await using second = await store.open({ coordinator: leader! });
    await second.transact((tx) => tx.set(documents.contents, "a", "abc"));
    await using third = await store.open({ coordinator: [`${leader}`] });
    expect(await third.transact((tx) => tx.get(documents.contents, "a"))).toBe("abc");
  });

  test("of processes that start at once with one address, one starts a coordinator, and the others use it", async () => {
    const store = new SharedStore();
    const listen = `127.0.0.1:${await freePort()}`;
    const coordinator = { start: true, listen };
    const opened = await Promise.all([1, 2, 3].map(() => store.open({ coordinator })));
    for (const db of opened)
      expect((await db.status()).coordinator).toMatchObject({ leader: listen, answers: true });
    await Promise.all(opened.map((db) => db.close()));
  });

  test("a coordinator whose address another program has taken is an error", async () => {
    const occupant = createServer().listen(0, "127.0.0.1");
    await once(occupant, "listening");
    const { port } = occupant.address() as AddressInfo;
    const coordinator = { start: true, listen: `127.0.0.1:${port}` };
    await expect(new SharedStore().open({ coordinator })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("cannot listen"),
    });
    occupant.close();
  });

  test("an address at which another database's coordinator listens is refused", async () => {
    const [store, other] = [new SharedStore(), new SharedStore()];
    await using _right = await store.open({ coordinator: auto });
    await using elsewhere = await other.open({ coordinator: auto });
    const { leader } = (await elsewhere.status()).coordinator!;
    await expect(store.open({ coordinator: leader! })).rejects.toMatchObject({
      code: "COORDINATOR",
      reason: "cluster",
      message: expect.stringContaining("serves another database"),
    });
  });

  test("if there was never a leader, opening says at once what to do", async () => {
    await expect(new SharedStore().open()).rejects.toMatchObject({
      code: "ORACLE_UNAVAILABLE",
      message: expect.stringContaining('Start one with "percolator coordinator LOCATION"'),
    });
  });

  test("if this process cannot reach the leader, opening says so instead of asking for another one", async () => {
    const store = new SharedStore();
    const alive = { environment: systemEnvironment, leaseMs: 400 };
    const name = `127.0.0.1:${await freePort()}`;
    const leader = new OracleLeader({ store: store.member(), name, ...alive });
    leader.start();
    await vi.waitFor(() => expect(leader.status.role).toBe("leading"), { timeout: 60_000 });
    await expect(store.open({ environment: hurried })).rejects.toMatchObject({
      code: "ORACLE_UNAVAILABLE",
      message: expect.stringMatching(
        RegExp(`A coordinator leads .* it does not answer.*${name}.*ECONNREFUSED.*--advertise`),
      ),
    });
    await leader.stop();
  });

  test("with its own oracle, or with none wanted, no coordinator is searched", async () => {
    await using db = await new SharedStore().open({ oracle: countingOracle() });
    expect((await db.status()).coordinator).toBeUndefined();
    await expect(new SharedStore().open({ coordinator: false })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("does not assign timestamps itself"),
    });
  });

  test("a wrong token is an error at once", async () => {
    const store = new SharedStore();
    await using first = await store.open({ coordinator: { ...auto, token: "right-token-0123456789" } });
    await using second = await store.open({ coordinator: { token: "right-token-0123456789" } });
    expect((await second.status()).coordinator?.answers).toBe(true);
    await expect(store.open({ coordinator: { token: "wrong-token-0123456789" } })).rejects.toMatchObject({
      code: "COORDINATOR",
      reason: "token",
    });
    await expect(store.open()).rejects.toMatchObject({ code: "COORDINATOR", reason: "token" });
    expect((await first.status()).coordinator?.answers).toBe(true);
  });

  test("when the process that is the leader is closed, another one takes over if allowed", async () => {
    const store = new SharedStore();
    const first = await store.open({ coordinator: auto });
    await first.close();
    await using second = await store.open({ coordinator: auto });
    expect((await second.status()).coordinator).toMatchObject({ answers: true, epoch: 2 });
    await second.transact((tx) => tx.set(documents.contents, "a", "abc"));
  });
});

describe("a store with its own counter", () => {
  test("works without a coordinator, or uses it for sessions and claims", async () => {
    const folder = await temporaryFolder();
    try {
      await using alone = await open(folder.path);
      expect((await alone.status()).coordinator).toBeUndefined();
      await using first = await open(folder.path, { coordinator: auto, observers: [lengths] });
      await using second = await open(folder.path, { coordinator: {}, observers: [lengths] });
      await using _one = first.work();
      await using _two = second.work();
      await alone.transact((tx) => tx.set(documents.contents, "a", "abc"));
      await second.drain();
      expect(await alone.transact((tx) => tx.get(documents.length, "a"))).toBe(3);
      expect((await second.status()).coordinator).toMatchObject({ answers: true });
      await knows(second, 2);
      expect((await alone.status()).coordinator).toMatchObject({ answers: undefined, epoch: 1 });
    } finally {
      await folder.remove();
    }
  });
});

test.each([
  ["", "HOST:PORT"],
  ["nonsense", "HOST:PORT"],
  [[], "HOST:PORT"],
  [5 as never, "not 5"],
  [{ addresses: ["127.0.0.1:1"], start: true }, "Leave out one of them"],
])("refuses %j", async (coordinator, message) => {
  await expect(open("memory:", { coordinator })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining(message),
  });
});
