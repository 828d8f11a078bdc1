import { describe, expect, test, vi } from "vitest";
import { TestCluster, type TestMember } from "../../test/support/observer/cluster.js";
import { countHints, openTest, type TestDatabase } from "../../test/support/observer/context.js";
import { documents, length } from "../../test/support/observer/documents.js";
import { TestEnvironment } from "../../test/support/observer/environment.js";
import { memoryStore } from "../store/memory/index.js";
import { hintTable } from "../transaction/index.js";
import { bucketOf, hintPrefix } from "./hint/hint.js";
import { batchObserver, type Observer, observer } from "./index.js";

interface Member {
  readonly db: TestDatabase;
  readonly member: TestMember;
}

/** Databases on one store of one-row mutations, with one cluster service. */
class World {
  readonly environment = new TestEnvironment();
  readonly service = new TestCluster();
  readonly store = memoryStore({ environment: this.environment, atomicBatches: false });
  readonly #counting = memoryStore().atomic!;

  async join(
    observers: readonly Observer[],
    options: { environment?: TestEnvironment } = {},
  ): Promise<Member> {
    const member = this.service.member();
    const db = await openTest({
      store: this.store,
      environment: options.environment ?? this.environment,
      commit: "two-phase",
      oracle: { next: (asked) => this.#counting.next(asked), latest: () => this.#counting.counter() },
      observers,
      cluster: member,
    });
    return { db, member };
  }

  async write({ db }: Member, rows: readonly string[]): Promise<void> {
    await this.environment.until(
      db.transact((tx) => {
        for (const row of rows) tx.set(documents.contents, row, "abc");
      }),
    );
  }
}

const rowsOf = (count: number) => Array.from({ length: count }, (_, index) => `row ${index}`);
const committedBy = ({ db }: Member) => db.runs.filter((run) => run.outcome === "committed").length;

/** The key by which a process claims a hint: the hint's row. */
function claimOf(row: string): string {
  const prefix = hintPrefix("length");
  return Buffer.concat([prefix, Buffer.of(bucketOf(Buffer.from(row))), Buffer.from(row)]).toString("latin1");
}

describe("sessions of a cluster", () => {
  test("the service's answer has priority, and the record counts if the service knows nothing", async () => {
    const world = new World();
    const [one, other] = [await world.join([length]), await world.join([length])];
    const { session } = one.db.sessions;
    const worker = one.db.pool.work();
    await world.environment.advance(1_000);
    expect(world.service.sessions).toEqual(new Set([session]));
    expect(await other.db.sessions.alive(session)).toBe(true);
    world.service.end(session);
    expect(await other.db.sessions.alive(session)).toBe(false);
    other.member.isAway = true;
    await world.environment.advance(1_000);
    expect(await other.db.sessions.alive(session)).toBe(true);
    expect(await other.db.sessions.alive("nobody")).toBeUndefined();
    await world.environment.until(worker.stop());
    await world.environment.until(one.db.close());
    expect(world.service.ended).toContain(session);
  });

  test("a session that the service has lost, but that sends heartbeats, is not removed", async () => {
    const world = new World();
    const [one, other] = [await world.join([length]), await world.join([length])];
    const workers = [one, other].map(({ db }) => db.pool.work());
    await world.environment.advance(3_000);
    world.service.end(one.db.sessions.session);
    await world.environment.advance(10_000);
    expect(other.db.sessions.suspectUpTo("length")).toBe(0);
    expect([...(await other.db.sessions.list()).keys()].sort()).toEqual(
      [one, other].map(({ db }) => db.sessions.session).sort(),
    );
    for (const worker of workers) await world.environment.until(worker.stop());
  });

  test("the service's answer has priority over the machine's, if two machines are taken for one", async () => {
    const world = new World();
    // Each process sees the other's process id as ended.
    class Confused extends TestEnvironment {
      override readonly processName: string;

      constructor(id: number) {
        super();
        this.processName = `machine/${id}`;
      }

      override isRunning(name: string): boolean | undefined {
        return name === this.processName;
      }
    }
    const environments = [new Confused(1), new Confused(2)] as const;
    const members: Member[] = [];
    for (const environment of environments) members.push(await world.join([length], { environment }));
    const [one, other] = members as [Member, Member];
    for (const { db } of members) db.pool.work();
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 250)
        for (const each of environments) await each.advance(250);
    };
    await pass(10_000);
    const sessions = [one, other].map(({ db }) => db.sessions.session).sort();
    for (const { db } of members) {
      expect([...(await db.sessions.list()).keys()].sort()).toEqual(sessions);
      expect(db.sessions.suspectUpTo("length")).toBe(0);
    }
    // If the cluster does not answer, the process trusts the machine's answer.
    other.member.isAway = true;
    await pass(1_000);
    expect(other.db.sessions.isLive(one.db.sessions.session)).not.toBe(true);
    for (const { db } of members) await Promise.race([db.close(), pass(60_000)]);
  });

  test("a session that the service knows to be over is removed before its record has expired", async () => {
    const world = new World();
    const dead = new TestEnvironment();
    const one = await world.join([length], { environment: dead });
    one.db.pool.work();
    await dead.settle();
    const other = await world.join([length]);
    world.service.end(one.db.sessions.session);
    const worker = other.db.pool.work();
    await world.environment.advance(2_500);
    expect(other.db.sessions.suspectUpTo("length")).toBeGreaterThan(0);
    expect([...(await other.db.sessions.list()).keys()]).toEqual([other.db.sessions.session]);
    await world.environment.until(worker.stop());
  });

  test("a worker that replaces a killed one begins when the other's end is certain", async () => {
    const world = new World();
    const dead = new TestEnvironment();
    const attempts: number[] = [];
    const killer = observer("length", documents.contents, () => new Promise<void>(() => {}), { attempts: 1 });
    const one = await world.join([killer], { environment: dead });
    one.db.pool.work();
    await dead.settle();
    await world.write(one, ["bad"]);
    await dead.settle();
    world.service.end(one.db.sessions.session);
    const other = await world.join([killer]);
    other.db.context.events.on("run", (run) => attempts.push(run.attempts));
    const worker = other.db.pool.work();
    await world.environment.until(worker.idle());
    // The change was not run again: its only attempt ended with the process.
    expect(other.db.runs.map((run) => run.outcome)).toEqual(["parked"]);
    expect(attempts).toEqual([1]);
    await world.environment.until(worker.stop());
  });
});

describe("claims", () => {
  test("workers divide a backlog without knowing of each other: each change once, no worker idle, no claim left", async () => {
    const world = new World();
    const slow = observer("length", documents.contents, async (tx, { row }) => {
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      tx.set(documents.length, row, 3);
    });
    const members = [];
    for (let count = 0; count < 4; count++) members.push(await world.join([slow]));
    // The writer runs no worker, so only scans find the changes.
    await world.write(members[0]!, rowsOf(1_000));
    const workers = members.map(({ db }) => db.pool.work({ concurrency: 16 }));
    for (const worker of workers) await world.environment.until(worker.idle());
    const done = members.map(committedBy);
    expect(done.reduce((sum, each) => sum + each, 0)).toBe(1_000);
    for (const each of done) expect(each).toBeGreaterThan(100);
    const runs = members.flatMap(({ db }) => db.runs);
    expect(runs.filter((run) => run.outcome === "conflict")).toHaveLength(0);
    expect(world.service.claims.size).toBe(0);
    // Each process claims at most the changes in its queue and those that it runs.
    expect(world.service.maxClaims).toBeLessThanOrEqual(4 * (256 + 16));
    for (const worker of workers) await world.environment.until(worker.stop());
  });

  test("leaves hints that another process has claimed, and finds unclaimed ones among them", async () => {
    const world = new World();
    const one = await world.join([length]);
    const rows = rowsOf(300);
    await world.write(one, rows);
    for (const row of rows.slice(0, 299)) world.service.claims.set(claimOf(row), "somebody");
    const worker = one.db.pool.work();
    await world.environment.advance(500);
    expect(committedBy(one)).toBe(1);
    expect(one.db.pool.board.size).toBe(0);
    world.service.claims.clear();
    await world.environment.advance(3_000);
    expect(committedBy(one)).toBe(300);
    await world.environment.until(worker.stop());
  });

  test("a scan jumps a few times, but not endlessly if everything is claimed", async () => {
    const world = new World();
    const one = await world.join([length]);
    const rows = rowsOf(300);
    await world.write(one, rows);
    for (const row of rows) world.service.claims.set(claimOf(row), "somebody");
    const read = vi.spyOn(world.store, "readRange");
    const worker = one.db.pool.work();
    await world.environment.advance(40);
    const pages = read.mock.calls.filter(([{ table }]) => table === hintTable).length;
    expect(pages).toBeGreaterThan(8);
    expect(pages).toBeLessThan(16);
    await world.environment.until(worker.stop());
  });

  test("a change of this process runs at once and is claimed; one that another process has claimed is dropped", async () => {
    const world = new World();
    const started: string[] = [];
    const releases: (() => void)[] = [];
    const held = observer("length", documents.contents, async (tx, { row }) => {
      started.push(row);
      await new Promise<void>((resolve) => releases.push(resolve));
      tx.set(documents.length, row, 3);
    });
    const one = await world.join([held]);
    const worker = one.db.pool.work({ concurrency: 1 });
    await world.environment.advance(1_000);
    world.service.claims.set(claimOf("taken"), "somebody");
    await world.write(one, ["first", "taken"]);
    await world.environment.settle();
    expect(started).toEqual(["first"]);
    expect([...world.service.claims]).toEqual([
      [claimOf("taken"), "somebody"],
      [claimOf("first"), one.db.sessions.session],
    ]);
    expect(one.db.pool.board.size).toBe(1);
    world.service.claims.delete(claimOf("taken"));
    for (const release of releases) release();
    await world.environment.advance(3_000);
    expect(started).toEqual(["first", "taken"]);
    for (const release of releases) release();
    await world.environment.until(worker.idle());
    expect(world.service.claims.size).toBe(0);
    await world.environment.until(worker.stop());
  });

  test("a process claims enough changes for the batches of a batch observer", async () => {
    const world = new World();
    const sizes: number[] = [];
    const batches = batchObserver("length", documents.contents, (_tx, changes) => {
      sizes.push(changes.length);
    });
    const one = await world.join([batches]);
    const worker = one.db.pool.work();
    await world.environment.advance(1_000);
    await world.write(one, rowsOf(400));
    await world.environment.until(worker.idle());
    expect(sizes.reduce((sum, size) => sum + size)).toBe(400);
    expect(sizes.filter((size) => size === 100).length).toBeGreaterThanOrEqual(2);
    expect(world.service.claims.size).toBe(0);
    await world.environment.until(worker.stop());
  });

  test("the work is done even if the service does not answer", async () => {
    const world = new World();
    const members = [await world.join([length]), await world.join([length])];
    for (const { member } of members) member.isAway = true;
    const workers = members.map(({ db }) => db.pool.work());
    await world.environment.advance(1_000);
    await world.write(members[0]!, rowsOf(50));
    await world.environment.advance(2_000);
    expect(await countHints(world.store)).toEqual({});
    for (const worker of workers) await world.environment.until(worker.stop());
  });

  test("the work of a killed process is taken over as soon as its claims are gone", async () => {
    const world = new World();
    const dead = new TestEnvironment();
    const hangs = observer("length", documents.contents, () => new Promise<void>(() => {}));
    const one = await world.join([hangs], { environment: dead });
    one.db.pool.work({ concurrency: 4 });
    await dead.settle();
    const other = await world.join([length]);
    const worker = other.db.pool.work();
    await world.environment.advance(1_500);
    // The process claims all twenty: four that run, and four waiting hints for each of these runs.
    await world.write(one, rowsOf(20));
    await dead.settle();
    await world.environment.advance(500);
    const before = committedBy(other);
    expect(before).toBe(0);
    world.service.end(one.db.sessions.session);
    await world.environment.advance(4_000);
    expect(committedBy(other)).toBe(20);
    await world.environment.until(worker.stop());
  });

  test("a backlog of any length needs bounded memory", async () => {
    const world = new World();
    const one = await world.join([length]);
    for (let part = 0; part < 4; part++) {
      await world.write(
        one,
        Array.from({ length: 1_000 }, (_, index) => `${part} ${index}`),
      );
    }
    const worker = one.db.pool.work({ concurrency: 8 });
    let most = 0;
    const idle = worker.idle();
    one.db.context.events.on("run", () => {
      most = Math.max(most, one.db.pool.board.size);
    });
    await world.environment.until(idle);
    expect(committedBy(one)).toBe(4_000);
    // The board holds at most a full queue, the runs, and the hints that are being deleted.
    expect(most).toBeLessThanOrEqual(256 + 8 + 1_024);
    expect(world.service.maxClaims).toBeLessThanOrEqual(256 + 8 + 1_024);
    await world.environment.until(worker.stop());
  });
});

describe("reporting whether a process is busy", () => {
  test("a run begins when the service knows that the process is busy; a busy process reports it once", async () => {
    const world = new World();
    const one = await world.join([length]);
    const worker = one.db.pool.work();
    await world.environment.advance(1_000);
    expect(world.service.told).toEqual({ busy: 0, quiet: 0 });
    const seen: number[] = [];
    one.db.context.events.on("run", () => seen.push(world.service.busy.size));
    // The service answers late.
    const { busy } = one.member;
    let answer = () => {};
    one.member.busy = async function (this: TestMember) {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      await busy.call(this);
    };
    await world.write(one, ["first"]);
    await world.environment.advance(1_000);
    expect(seen).toEqual([]);
    answer();
    await world.environment.settle();
    expect(seen).toEqual([1]);
    for (let count = 0; count < 5; count++) await world.write(one, rowsOf(10));
    await world.environment.settle();
    expect(committedBy(one)).toBeGreaterThan(0);
    expect(new Set(seen)).toEqual(new Set([1]));
    expect(world.service.told).toEqual({ busy: 1, quiet: 0 });
    await world.environment.advance(100);
    expect(world.service.told).toEqual({ busy: 1, quiet: 1 });
    expect(world.service.busyPeriods).toBe(1);
    await world.environment.until(worker.stop());
  });
});

describe("idle in a cluster", () => {
  async function isOver(world: World, promise: Promise<unknown>, ms = 2_000): Promise<boolean> {
    let over = false;
    void promise.then(() => {
      over = true;
    });
    await world.environment.advance(ms);
    return over;
  }

  async function quietWorld(): Promise<{ world: World; one: Member; stop: () => Promise<void> }> {
    const world = new World();
    const one = await world.join([length]);
    const worker = one.db.pool.work();
    await world.environment.advance(1_000);
    return { world, one, stop: () => world.environment.until(worker.stop()) };
  }

  test("waits while another process is busy, even if there is no hint", async () => {
    const { world, one, stop } = await quietWorld();
    const other = world.service.member();
    await other.join("other");
    await other.busy();
    const idle = one.db.pool.idle();
    expect(await isOver(world, idle)).toBe(false);
    other.quiet();
    expect(await isOver(world, idle)).toBe(true);
    await stop();
  });

  test("does not count a check during which a process was busy or the service restarted", async () => {
    const { world, one, stop } = await quietWorld();
    const other = world.service.member();
    await other.join("other");
    // Between any two checks, a process runs something or the service restarts.
    const restless = { isOn: true };
    const { activity } = one.member;
    let asked = 0;
    one.member.activity = async function (this: TestMember) {
      const answer = await activity.call(this);
      if (!restless.isOn) return answer;
      if (asked++ % 4 < 2) {
        await other.busy();
        other.quiet();
      } else world.service.epoch += "'";
      return answer;
    };
    const idle = one.db.pool.idle();
    expect(await isOver(world, idle)).toBe(false);
    expect(asked).toBeGreaterThan(8);
    restless.isOn = false;
    expect(await isOver(world, idle)).toBe(true);
    await stop();
  });

  test("waits while the service does not answer, and for a live process that is not connected", async () => {
    const { world, one, stop } = await quietWorld();
    one.member.isAway = true;
    const idle = one.db.pool.idle();
    expect(await isOver(world, idle, 20_000)).toBe(false);
    const other = await world.join([length]);
    const worker = other.db.pool.work();
    await world.environment.advance(1_000);
    world.service.sessions.delete(other.db.sessions.session);
    one.member.isAway = false;
    expect(await isOver(world, idle, 3_000)).toBe(false);
    world.service.sessions.add(other.db.sessions.session);
    expect(await isOver(world, idle)).toBe(true);
    await world.environment.until(worker.stop());
    await stop();
  });

  test("does not wait forever for a process that works without the service, but reports it", async () => {
    const { world, one, stop } = await quietWorld();
    const other = await world.join([length]);
    other.member.isAway = true;
    const worker = other.db.pool.work();
    await world.environment.advance(3_000);
    const idle = one.db.pool.idle();
    expect(await isOver(world, idle, 3_000)).toBe(false);
    expect(await isOver(world, idle, 10_000)).toBe(true);
    expect(one.db.failures.map(({ doing }) => doing)).toContain("finding out whether all processes are idle");
    await world.environment.until(worker.stop());
    await stop();
  });
});
