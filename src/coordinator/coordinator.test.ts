import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Coordinators, unhurried } from "../../test/support/coordinator/coordinators.js";
import { systemEnvironment } from "../environment/index.js";
import { OracleLeader } from "../oracle/index.js";
import { encodeLease } from "../oracle/lease-record.js";
import { oracleTable } from "../oracle/lease-row.js";
import { memoryStore } from "../store/memory/index.js";
import type { CoordinatorClient } from "./client/client.js";

let all: Coordinators;

beforeEach(() => {
  all = new Coordinators();
});

afterEach(() => all.close());

const eventually = (check: () => void | Promise<void>) =>
  vi.waitFor(check, { timeout: 30_000, interval: 10 });

describe("timestamps", () => {
  test("rise across a change of leaders, which a client does not notice", async () => {
    const first = await all.lead();
    const clients = [all.client(), all.client({ addresses: [first.address] })];
    let greatest = 0;
    for (let round = 0; round < 20; round++) {
      const asked = clients.flatMap(({ oracle }) => Array.from({ length: 25 }, () => oracle.next()));
      const timestamps = await Promise.all(asked);
      expect(Math.min(...timestamps)).toBeGreaterThan(greatest);
      expect(new Set(timestamps).size).toBe(50);
      greatest = Math.max(...timestamps);
      if (round === 10) {
        const second = await all.start();
        await eventually(() => expect(second.status.leader).toBe(first.address));
        // The client has one address. It learns the other coordinator's address from the first
        // coordinator.
        await Promise.all([first.stop(), eventually(() => expect(second.status.role).toBe("leading"))]);
        clients[1] = all.client({ addresses: [first.address, second.address] });
      }
    }
    expect(await all.client().oracle.latest()).toBeGreaterThan(greatest);
  });

  test("are refused if the store has its own counter", async () => {
    const { address } = await all.lead({ store: memoryStore() });
    const { oracle, cluster } = all.client({ addresses: [address] });
    await expect(oracle.next()).rejects.toMatchObject({ code: "COORDINATOR" });
    await expect(oracle.latest()).rejects.toMatchObject({ code: "COORDINATOR" });
    await cluster.join("s");
    await eventually(async () => expect(await cluster.alive("s")).toBe(true));
  });

  test("have callers wait until `retryForMs` is over", async () => {
    const { oracle } = all.client({ retryForMs: 300 });
    await expect(oracle.next()).rejects.toMatchObject({
      code: "ORACLE_UNAVAILABLE",
      message: expect.stringContaining("percolator coordinator"),
    });
    const waiting = all.client().oracle.next();
    await all.lead();
    expect(await waiting).toBeGreaterThan(0);
  });

  test("can be aborted by one caller without an effect on the others", async () => {
    const { oracle } = all.client();
    const [abort, kept] = [new AbortController(), oracle.next()];
    const left = oracle.next({ signal: abort.signal });
    abort.abort();
    await expect(left).rejects.toMatchObject({ code: "ABORTED" });
    await all.lead();
    expect(await kept).toBeGreaterThan(0);
  });
});

describe("a coordinator of another database", () => {
  test("at the address in the lease is refused, until an own one leads", async () => {
    const { address } = await all.lead({ store: memoryStore({ atomicBatches: false }) });
    const dead = {
      epoch: 1,
      revision: 1,
      holder: "dead",
      name: address,
      leaseMs: 1,
      mark: 1,
      cluster: "own",
    };
    const row = { table: oracleTable, row: Buffer.from("leader") };
    const column = Buffer.from("lease");
    const put = { type: "put", column, part: "write", timestamp: 1, value: encodeLease(dead) } as const;
    await all.store.mutate({ ...row, guards: [], mutations: [put] });
    const { oracle, cluster } = all.client();
    const listed = all.client({ store: all.store, addresses: [address] });
    const refusal = { code: "COORDINATOR", reason: "cluster" };
    await expect(oracle.next()).rejects.toMatchObject(refusal);
    await expect(listed.oracle.next()).rejects.toMatchObject(refusal);
    await expect(listed.cluster.join("s")).rejects.toMatchObject(refusal);
    expect(await all.client({ addresses: [address] }).oracle.next()).toBeGreaterThan(0);
    await all.lead();
    expect(await oracle.next()).toBeGreaterThan(0);
    await cluster.join("s");
  });
});

describe("sessions", () => {
  beforeEach(() => {
    all = new Coordinators(unhurried);
  });

  test("live while their connection does", async () => {
    await all.lead();
    const [a, b] = [await all.member("a"), await all.member("b")];
    expect(await b.cluster.alive("a")).toBe(true);
    expect(await b.cluster.alive("c")).toBeUndefined();
    await a.cluster.leave();
    await a.cluster.leave();
    expect(await b.cluster.alive("a")).toBe(false);
    await a.cluster.join("a");
    expect(await b.cluster.alive("a")).toBe(true);
    // The first close ends the session. The second one has no effect.
    await a.close();
    await a.close();
    expect(await b.cluster.alive("a")).toBe(false);
  });

  test("many can live at a time, without a warning", async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error) => warnings.push(warning);
    process.on("warning", warned);
    await all.lead();
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    const [{ cluster }] = (await Promise.all(names.map((name) => all.member(name)))) as [CoordinatorClient];
    expect((await cluster.activity())?.sessions).toEqual(new Set(names));
    expect(await Promise.all(names.map((name) => cluster.alive(name)))).toEqual(names.map(() => true));
    process.off("warning", warned);
    expect(warnings).toEqual([]);
  });

  test("a process has one", async () => {
    await all.lead();
    const { cluster } = await all.member("a");
    await cluster.join("a");
    await expect(async () => await cluster.join("b")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("joining waits for a coordinator, or until its signal is aborted", async () => {
    all = new Coordinators();
    const { cluster } = all.client();
    const signal = AbortSignal.timeout(50);
    await expect(cluster.join("a", signal)).rejects.toMatchObject({ code: "TIMEOUT" });
    const joined = cluster.join("a");
    await all.lead();
    await joined;
  });

  test("leaving before a coordinator was found ends the wait", async () => {
    const { cluster } = all.client();
    const joining = cluster.join("a");
    const refused = expect(joining).rejects.toMatchObject({ code: "ABORTED" });
    await cluster.leave();
    await refused;
  });
});

describe("claims and busy periods", () => {
  beforeEach(() => {
    all = new Coordinators(unhurried);
  });

  test("belong to the session, and end with it", async () => {
    await all.lead();
    const [a, b] = [(await all.member("a")).cluster, (await all.member("b")).cluster];
    const keys = ["x", "y", "z"].map((name) => Buffer.from(name));
    expect(await Promise.all(keys.map((key) => a.claim(key)))).toEqual([true, true, true]);
    a.release(keys[1]!);
    // The session's stream keeps the order of its messages. When `busy` is acknowledged, the
    // release before it has arrived, too.
    await a.busy();
    expect(await Promise.all(keys.map((key) => b.claim(key)))).toEqual([false, true, false]);
    expect(await b.activity()).toMatchObject({
      busyPeriods: 1,
      sessions: new Set(["a", "b"]),
      busy: new Set(["a"]),
    });
    a.quiet();
    await eventually(async () => expect((await b.activity())?.busy).toEqual(new Set()));
    await a.leave();
    expect(await b.claim(keys[0]!)).toBe(true);
    expect((await b.activity())?.busyPeriods).toBe(1);
  });

  test("are reported again to the next leader", async () => {
    all = new Coordinators();
    const first = await all.lead();
    const [a, b] = [(await all.member("a")).cluster, (await all.member("b")).cluster];
    const [held, returned] = [Buffer.from("held"), Buffer.from("returned")];
    await Promise.all([a.claim(held), a.claim(returned), a.busy()]);
    const isTaken = (key: Buffer) => eventually(async () => expect(await b.claim(key)).toBe(false));
    await isTaken(held);
    const before = await b.activity();
    const second = await all.start();
    await first.stop();
    await eventually(() => expect(second.status.role).toBe("leading"));
    // Without a leader, a claim counts as granted. The session reports the claims that it holds
    // when it joins the next leader.
    a.release(returned);
    expect(await Promise.race([a.claim(Buffer.from("new")), new Promise((r) => setTimeout(r, 5_000))])).toBe(
      true,
    );
    await eventually(async () => {
      expect(await b.activity()).toMatchObject({ sessions: new Set(["a", "b"]), busy: new Set(["a"]) });
    });
    expect((await b.activity())?.epoch).not.toBe(before?.epoch);
    // If the coordinator answers too late, the client treats a claim as granted, so the test asks
    // again.
    await isTaken(held);
    await isTaken(Buffer.from("new"));
    expect(await b.claim(returned)).toBe(true);
  });

  test("that are too many bytes for one message do not keep a session from joining", async () => {
    await all.lead();
    const { cluster } = all.client();
    const keys = Array.from({ length: 6_000 }, (_, index) => Buffer.alloc(1_800, `${index} `));
    for (const key of keys) void cluster.claim(key);
    await cluster.join("a");
    const b = (await all.member("b")).cluster;
    await eventually(async () => expect(await b.claim(keys[0]!)).toBe(false));
    expect(await b.claim(keys.at(-1)!)).toBe(true);
  });

  test("thousands of requests in one turn are all answered", async () => {
    await all.lead();
    const [a, b] = [(await all.member("a")).cluster, (await all.member("b")).cluster];
    const keys = Array.from({ length: 3_500 }, (_, index) => Buffer.from(`key ${index}`));
    const halves = [keys.filter((_, index) => index % 2 === 0), keys.filter((_, index) => index % 3 === 0)];
    const granted = await Promise.all(halves[0]!.map((key) => a.claim(key)));
    expect(granted.every((each) => each === true)).toBe(true);
    const asked = await Promise.all(halves[1]!.map(async (key) => [key, await b.claim(key)] as const));
    for (const [key, isGranted] of asked) expect(isGranted).toBe(Number(`${key}`.slice(4)) % 2 !== 0);
  });

  test("if there is no answer, the safe result is returned soon", async () => {
    const failures: unknown[] = [];
    const { cluster } = all.client({ onFailure: ({ error }) => failures.push(error) });
    expect(await cluster.claim(Buffer.from("x"))).toBe(true);
    expect(await cluster.alive("s")).toBeUndefined();
    expect(await cluster.busy()).toBeUndefined();
    expect(await cluster.activity()).toBeUndefined();
    expect(failures.length).toBeGreaterThan(0);
    const signal = AbortSignal.abort();
    await expect(cluster.activity(signal)).rejects.toMatchObject({ code: "ABORTED" });
  });
});

describe("the leader", () => {
  test("a standby redirects its clients to the leader", async () => {
    const first = await all.lead();
    const second = await all.start();
    await eventually(() => expect(second.status.leader).toBe(first.address));
    const client = all.client({ addresses: [second.address] });
    expect(await client.oracle.next()).toBeGreaterThan(0);
    await client.cluster.join("s");
    const { cluster } = all.client();
    await eventually(async () => expect(await cluster.alive("s")).toBe(true));
  });

  test("a lease of another oracle is reported differently from a missing leader", async () => {
    const { store } = all;
    const another = new OracleLeader({ store, environment: systemEnvironment, name: "another" });
    another.start();
    await eventually(() => expect(another.status.role).toBe("leading"));
    await expect(all.client().oracle.next()).rejects.toMatchObject({
      code: "COORDINATOR",
      message: expect.stringContaining('"another"'),
    });
    await another.stop();
  });

  test("a coordinator that stops releases the lease, and accepts no new clients", async () => {
    const first = await all.lead();
    const second = await all.start();
    const client = all.client();
    await client.oracle.next();
    await first.stop();
    await first.stop();
    expect(await client.oracle.next()).toBeGreaterThan(0);
    await eventually(() => expect(second.status).toMatchObject({ role: "leading", epoch: 2 }));
    expect(first.status.role).toBe("stopped");
  });
});
