import { describe, expect, test } from "vitest";
import { type Fate, TestMachine, TestWorld } from "../../test/support/oracle/world.js";
import { NotLeaderError } from "../errors/index.js";
import { OracleLeader } from "./leader.js";
import type { LeaderFailure, OracleLeaderOptions } from "./leader-options.js";
import { decodeLease, encodeLease, type LeaseRecord } from "./lease-record.js";
import { oracleTable } from "./lease-row.js";

const cell = { row: Buffer.from("leader"), column: Buffer.from("lease") };

async function stored(world: TestWorld): Promise<LeaseRecord | undefined> {
  const page = await world.store.readRow({
    table: oracleTable,
    row: cell.row,
    columns: [{ exact: cell.column }],
    at: Number.POSITIVE_INFINITY,
  });
  const bytes = page.cells[0]?.write?.value;
  return bytes === undefined ? undefined : decodeLease(bytes);
}

async function overwrite(world: TestWorld, value: Uint8Array | undefined): Promise<void> {
  const { row, column } = cell;
  await world.store.mutate({
    table: oracleTable,
    row,
    guards: [],
    mutations: [
      value === undefined
        ? { type: "delete", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY }
        : { type: "put", column, part: "write", timestamp: 1, value },
    ],
  });
}

function candidate(machine: TestMachine, options: Partial<OracleLeaderOptions> = {}): OracleLeader {
  const leader = new OracleLeader({ store: machine.store, environment: machine, name: "a", ...options });
  leader.start();
  return leader;
}

async function leading(machine: TestMachine, options: Partial<OracleLeaderOptions> = {}) {
  const leader = candidate(machine, options);
  await machine.world.when(() => leader.status.role === "leading");
  return leader;
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("taking the lease", () => {
  test.each<Fate>(["answer-lost", "request-lost", "silent", "twice", "fails", "late"])(
    "leads soon if the attempt is: %s",
    async (fate) => {
      const world = new TestWorld();
      const machine = new TestMachine(world);
      machine.fates = [fate];
      const a = candidate(machine);
      await world.when(() => a.status.role === "leading", 5_000);
      expect(await stored(world)).toMatchObject({ name: "a", epoch: 1 });
      await a.next();
      await world.until(a.stop());
    },
  );

  test("an attempt that is applied after another candidate has taken over has no effect", async () => {
    const world = new TestWorld();
    const slow = new TestMachine(world);
    slow.fates = ["late"];
    slow.latency = () => 5;
    const a = candidate(slow);
    await world.when(() => slow.late.length === 1);
    slow.suspend();
    const b = await leading(new TestMachine(world), { name: "b" });
    const { first } = await b.next();
    expect(await slow.late[0]!()).toBe("rejected");
    slow.resume();
    await world.advance(1_000);
    expect(a.status).toEqual({ role: "standby", epoch: 1, leader: "b" });
    expect((await b.next()).first).toBeGreaterThan(first);
    await world.until(Promise.all([a.stop(), b.stop()]));
  });

  test("an attempt that is applied late, with no other candidate, is found and gives out nothing by itself", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    machine.fates = ["late"];
    const a = candidate(machine);
    await world.settle();
    expect(a.status.role).toBe("standby");
    expect(await machine.late[0]!()).toBe("applied");
    expect(await failureOf(a.next())).toBeInstanceOf(NotLeaderError);
    await world.advance(100);
    // The lease belongs to this candidate, so it does not wait until the lease expires.
    expect(a.status).toMatchObject({ role: "leading", epoch: 2 });
    const mark = (await stored(world))!.mark;
    expect((await a.next()).first).toBeLessThanOrEqual(mark);
    await world.until(a.stop());
  });

  test("two attempts of one candidate never carry the same bytes: the lease counts from the applied one", async () => {
    const world = new TestWorld();
    // The wall clock is frozen, so the attempts differ only in their revision.
    const machine = new TestMachine(world);
    machine.now = () => 1_700_000_000_000;
    machine.fates = ["late", "behind-late"];
    const a = candidate(machine);
    await world.when(() => a.status.role === "leading");
    // The store rejected the second attempt, since it had applied the first one. The candidate did
    // not confuse the two.
    expect(await stored(world)).toMatchObject({ epoch: 2, revision: 3 });
    await world.until(a.stop());
  });

  test("an unreachable store is reported, and tried again", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    machine.failingReads = 3;
    const failures: LeaderFailure[] = [];
    const changes: string[] = [];
    const a = await leading(machine, {
      onFailure: (failure) => failures.push(failure),
      onChange: ({ role }) => changes.push(role),
    });
    expect(failures.map(({ doing }) => doing)).toEqual(Array(3).fill("standing by for the oracle's lease"));
    await world.until(a.stop());
    expect(changes).toEqual(["standby", "leading", "stopped"]);
  });
});

describe("renewing it", () => {
  test.each<Fate>(["answer-lost", "request-lost", "silent", "twice", "fails", "late"])(
    "continues as the leader if renewals are: %s",
    async (fate) => {
      const world = new TestWorld(3);
      const machine = new TestMachine(world);
      const a = await leading(machine);
      const b = candidate(new TestMachine(world), { name: "b" });
      let last = 0;
      for (let passed = 0; passed < 120; passed++) {
        if (passed % 4 === 0) machine.fates = [fate];
        await world.advance(500);
        if (machine.late.length > 1) await machine.late.shift()!();
        const { first } = await a.next();
        expect(first).toBeGreaterThan(last);
        expect(first).toBeLessThanOrEqual((await stored(world))!.mark);
        last = first;
      }
      expect(a.status.epoch).toBe(1);
      expect(b.status.role).toBe("standby");
      await world.until(Promise.all([a.stop(), b.stop()]));
    },
  );

  test("a delayed renewal of this term that is applied before the next counts as its own", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine);
    machine.fates = ["late"];
    await world.when(() => machine.late.length === 1);
    expect(await machine.late[0]!()).toBe("applied");
    const { revision } = (await stored(world))!;
    await world.advance(500);
    expect((await stored(world))!.revision).toBeGreaterThan(revision);
    expect(a.status).toMatchObject({ role: "leading", epoch: 1 });
    await a.next();
    await world.until(a.stop());
  });

  test("a row that another candidate has taken ends it at once, whatever its lease shows", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine, { windowMs: 1 });
    const now = (await stored(world))!;
    const other = { ...now, epoch: 9, revision: now.revision + 1, holder: "x", name: "x", mark: now.mark };
    await overwrite(world, encodeLease(other));
    machine.latency = () => 20;
    const waiting = [a.next(1_000), a.next(1_000), a.next(1_000)].map(failureOf);
    await world.advance(100);
    const failures = await Promise.all(waiting);
    expect(failures.at(-1)).toMatchObject({ code: "NOT_LEADER", leader: "x" });
    expect(a.status).toEqual({ role: "standby", epoch: 9, leader: "x" });
    expect(await failureOf(a.next())).toBeInstanceOf(NotLeaderError);
    machine.latency = () => 0;
    await world.until(a.stop());
  });

  test("after a rejected write it gives out nothing until it knows why", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine);
    await overwrite(world, encodeLease({ ...(await stored(world))!, holder: "x", name: "x", revision: 100 }));
    machine.failingReads = 1_000;
    await world.advance(3_000);
    expect(await failureOf(a.next())).toBeInstanceOf(NotLeaderError);
    machine.failingReads = 0;
    await world.advance(2_000);
    expect(a.status).toMatchObject({ role: "standby", leader: "x" });
    await world.until(a.stop());
  });

  test("a deleted row does not set it back", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine, { windowMs: 60_000 });
    const { first } = await a.next(50_000);
    const { mark } = (await stored(world))!;
    await overwrite(world, undefined);
    await world.advance(3_000);
    expect(a.status).toMatchObject({ role: "leading", epoch: 1 });
    const again = await a.next();
    expect(again.first).toBeGreaterThan(mark);
    expect(again.first).toBeGreaterThan(first + 49_999);
    await world.until(a.stop());
  });

  test("an unreadable row is an error, and is never taken", async () => {
    const world = new TestWorld();
    await overwrite(world, Buffer.from("{}"));
    const failures: LeaderFailure[] = [];
    const a = candidate(new TestMachine(world), { onFailure: (failure) => failures.push(failure) });
    await world.advance(20_000);
    expect(a.status.role).toBe("standby");
    expect(failures[0]!.error).toMatchObject({ code: "STORE_DAMAGED" });
    await world.until(a.stop());
  });
});

describe("giving it up", () => {
  test.each<Fate>(["done", "answer-lost", "request-lost", "twice", "fails", "late"])(
    "leaves a free row if the release is: %s",
    async (fate) => {
      const world = new TestWorld();
      const machine = new TestMachine(world);
      const a = await leading(machine);
      const { first } = await a.next(5);
      machine.fates = [fate];
      await world.until(a.stop());
      expect(await stored(world)).toMatchObject({ holder: "", leaseMs: 0, mark: first + 4 });
      for (const late of machine.late) expect(await late()).toBe("rejected");
    },
  );

  test("works while a renewal is in flight, and ends even if nothing gets through", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine, { windowMs: 1 });
    machine.latency = () => 50;
    const waiting = [a.next(1_000), a.next(1_000)].map(failureOf);
    await world.advance(30);
    const stopping = a.stop();
    expect((await Promise.all(waiting))[1]).toBeInstanceOf(NotLeaderError);
    await world.until(stopping);
    expect(await stored(world)).toMatchObject({ holder: "", mark: 1_700_000_000_000_999 });

    const lost = new TestMachine(world);
    const b = await leading(lost, { name: "b" });
    lost.fates = Array.from({ length: 1_000 }, () => "request-lost");
    await world.until(b.stop(), { maxMs: 5_000 });
    expect(await stored(world)).toMatchObject({ name: "b" });
    const c = await leading(new TestMachine(world), { name: "c" });
    await world.until(c.stop());
  });

  test("a lease that was taken without an answer keeps its mark when it is released", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    machine.fates = ["late"];
    const a = candidate(machine);
    await world.settle();
    await machine.late[0]!();
    const { mark } = (await stored(world))!;
    await world.until(a.stop());
    expect(await stored(world)).toMatchObject({ holder: "", mark });
  });

  test("a candidate that is stopped while it takes the lease gives out nothing, and leaves the row free", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    machine.latency = () => 50;
    const a = candidate(machine);
    await world.advance(120);
    const stopping = a.stop();
    await world.advance(100);
    expect(await failureOf(a.next())).toMatchObject({ code: "NOT_LEADER" });
    await world.until(stopping);
    expect(await stored(world)).toMatchObject({ holder: "", epoch: 1 });
  });
});

describe("the record", () => {
  test("identifies the database for all leaders, even if the row was deleted", async () => {
    const world = new TestWorld();
    const a = await leading(new TestMachine(world));
    const { cluster } = (await stored(world))!;
    expect(cluster).not.toBe("");
    expect(a.cluster).toBe(cluster);
    await world.until(a.stop());
    const b = await leading(new TestMachine(world), { name: "b" });
    expect([b.cluster, (await stored(world))!.cluster]).toEqual([cluster, cluster]);
    await overwrite(world, undefined);
    await world.advance(20_000);
    expect([b.status.role, (await stored(world))!.cluster]).toEqual(["leading", cluster]);
    await world.until(b.stop());
  });

  test("is read as it was written, and everything else is a named error", () => {
    const holder = { holder: "h", name: "n\0é", cluster: "c" };
    const record: LeaseRecord = { epoch: 1, revision: 2, leaseMs: 0.5, mark: 3, ...holder };
    expect(decodeLease(encodeLease(record))).toEqual(record);
    const bytes = encodeLease(record);
    const older = Buffer.from(JSON.stringify({ ...JSON.parse(bytes.toString()), cluster: undefined }));
    expect(decodeLease(older)).toEqual({ ...record, cluster: "" });
    for (const wrong of [
      "",
      "null",
      "[]",
      "{",
      "{}",
      '{"format":"2"}',
      '{"format":1}',
      bytes.subarray(0, 20),
    ]) {
      expect(() => decodeLease(Buffer.from(wrong))).toThrow(
        expect.objectContaining({ code: "STORE_DAMAGED" }),
      );
    }
    expect(() => decodeLease(Buffer.from('{"format":2}'))).toThrow(
      expect.objectContaining({ code: "STORE_VERSION", message: expect.stringContaining("format 2") }),
    );
    for (const field of ["epoch", "revision", "holder", "name", "leaseMs", "mark", "cluster"] as const) {
      for (const value of [-1, 2 ** 60, null, {}]) {
        const wrong = Buffer.from(JSON.stringify({ ...JSON.parse(bytes.toString("utf8")), [field]: value }));
        expect(() => decodeLease(wrong), `${field} ${String(value)}`).toThrow();
      }
    }
  });
});
