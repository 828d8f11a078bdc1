import { describe, expect, test } from "vitest";
import { at, Scene } from "../../../test/support/scene.js";
import { AbortedError, CommitOutcomeUnknownError, StoreError } from "../../errors/index.js";
import { Emitter } from "../../events/index.js";
import type { CellAddress } from "../../transaction/index.js";
import { watchOutcomes } from "./index.js";

const [a, b] = [at("a"), at("b")];

function read(scene: Scene, cell: CellAddress, start: number, value?: string, commit?: number): void {
  scene.watcher.read({
    ...cell,
    start,
    commit,
    value: value === undefined ? undefined : Buffer.from(value),
  });
}

describe("invariant 10: reads", () => {
  test("the value at the start timestamp is right, however it is stored", async () => {
    const scene = new Scene();
    read(scene, a, 5);
    await scene.write(a, 10, 20, "1");
    await scene.lock(a, 25, a, "2");
    // Not yet committed.
    read(scene, a, 26, "1", 20);
    expect(scene.broken).toEqual([]);
  });

  test("a lock counts from its commit point on", async () => {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1");
    await scene.lock(b, 10, a, "1");
    await scene.commitPrimary(a, 10, 20, "1");
    read(scene, b, 20, "1", 20);
    read(scene, b, 19);
    read(scene, a, 30, "1");
    expect(scene.broken).toEqual([]);
  });

  test("an answer from another snapshot", async () => {
    const scene = new Scene();
    await scene.write(a, 10, 20, "1");
    await scene.write(a, 20, 30, "2");
    read(scene, a, 29, "1", 20);
    read(scene, a, 30, "2", 30);
    expect(scene.broken).toEqual([]);
    read(scene, a, 30, "1", 20);
    expect(scene.broken).toEqual([10]);
  });

  test("the right value of the wrong commit, nothing for a value, a value for nothing", async () => {
    const scene = new Scene();
    await scene.write(a, 10, 20, "1");
    await scene.write(a, 20, 30, "1");
    await scene.write(a, 30, 40);
    read(scene, a, 45);
    expect(scene.violations).toEqual([]);
    read(scene, a, 35, "1", 20);
    read(scene, a, 35);
    read(scene, a, 45, "1");
    expect(scene.violations).toHaveLength(3);
    expect(scene.broken).toEqual([10]);
  });

  test("a commit at or below a start timestamp at which the cell was read", async () => {
    const scene = new Scene();
    read(scene, a, 25);
    await scene.write(a, 20, 26, "1");
    expect(scene.broken).toEqual([]);
    read(scene, b, 25);
    await scene.write(b, 20, 25, "1");
    expect(scene.broken).toEqual([10]);
  });

  test("a two-phase commit at or below such a timestamp, by an existing lock", async () => {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1");
    await scene.lock(b, 10, a, "1");
    read(scene, b, 20);
    await scene.commitPrimary(a, 10, 20, "1");
    expect(scene.broken).toEqual([10]);
    expect(scene.violations[0]?.where).toBe("t/b/c");
  });

  test("a commit below the timestamp that a reader was promised", async () => {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1");
    await scene.lock(a, 10, a, "1", 21);
    await scene.commitPrimary(a, 10, 20, "1");
    expect(scene.broken).toEqual([10]);
  });

  test("a commit at the timestamp that a reader was promised", async () => {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1", 21);
    await scene.commitPrimary(a, 10, 21, "1");
    expect(scene.broken).toEqual([]);
  });
});

describe("invariant 11: reported outcomes", () => {
  test("committed, and it is", async () => {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1");
    await scene.commitPrimary(a, 10, 20, "1");
    scene.watcher.told(10, "committed", 20);
    expect(scene.broken).toEqual([]);
    scene.watcher.told(10, "committed", 21);
    expect(scene.broken).toEqual([11]);
  });

  test("reported as committed before the commit point", async () => {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1");
    scene.watcher.told(10, "committed", 20);
    expect(scene.broken).toEqual([11]);
  });

  test("reported as committed, but rolled back", async () => {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1");
    await scene.rollbackPrimary(a, 10);
    scene.watcher.told(10, "committed", 20);
    expect(scene.broken).toEqual([11]);
  });

  test("reported as not written, but committed then or later", async () => {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1");
    scene.watcher.told(10, "not-written");
    expect(scene.broken).toEqual([]);
    await scene.commitPrimary(a, 10, 20, "1");
    expect(scene.broken).toEqual([11]);
    await scene.lock(b, 11, b, "1");
    await scene.commitPrimary(b, 11, 21, "1");
    scene.watcher.told(11, "not-written");
    expect(scene.violations).toHaveLength(2);
  });
});

describe("invariant 11: errors of a database", () => {
  async function heard(phases: 1 | 2, error: unknown): Promise<readonly number[]> {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1");
    await scene.commitPrimary(a, 10, 20, "1");
    const events = new Emitter();
    watchOutcomes(scene.watcher, events);
    events.emit("rollback", {
      startTimestamp: 10,
      onlyTable: undefined,
      label: undefined,
      phases,
      durationMs: 1,
      cause: undefined,
      error,
    });
    return scene.broken;
  }

  test.each([new StoreError("no answer", { retryable: true }), new AbortedError("given up"), undefined])(
    "%s means that nothing was written",
    async (error) => expect(await heard(2, error)).toEqual([11]),
  );

  test("an unknown outcome promises nothing, and one-phase commits have no status to check", async () => {
    expect(await heard(2, new CommitOutcomeUnknownError("no answer"))).toEqual([]);
    expect(await heard(1, new StoreError("no answer"))).toEqual([]);
  });
});

describe("invariant 13: the oracle", () => {
  test("answers increase for requests made after them", () => {
    const { watcher, violations } = new Scene();
    const early = watcher.newestTimestamp;
    watcher.timestamp(watcher.newestTimestamp, 10);
    watcher.timestamp(watcher.newestTimestamp, 12);
    // The client requested this timestamp before the oracle answered the other requests.
    watcher.timestamp(early, 11);
    expect(watcher.newestTimestamp).toBe(12);
    expect(violations).toEqual([]);
    watcher.timestamp(watcher.newestTimestamp, 12);
    expect(violations).toHaveLength(1);
    watcher.timestamp(early, 11);
    expect(violations.map(({ invariant }) => invariant)).toEqual([13, 13]);
  });
});

test("contents from before the watch count as sound, and are known", async () => {
  const scene = new Scene();
  await scene.write(a, 10, 20, "1");
  await scene.lock(a, 30, a, "2");
  await scene.lock(b, 30, a, "2");
  await scene.commitPrimary(a, 30, 40, "2");
  const late = scene.watch();
  late.adopt(["t"]);
  late.read({ ...b, start: 40, commit: 40, value: Buffer.from("2") });
  late.told(30, "committed", 40);
  expect(scene.violations).toEqual([]);
  await scene.commitSecondary(b, 30, 40, "2");
  expect(late.atRest()).toEqual([]);
  late.told(30, "not-written");
  expect(scene.broken).toEqual([11]);
});

test("a change of which it was not told is an error", async () => {
  const scene = new Scene();
  await scene.write(a, 10, 20, "1");
  const late = scene.watch();
  await scene.write(a, 20, 30, "2");
  expect(() => late.atRest()).toThrow(/was not told of write@20/);
});
