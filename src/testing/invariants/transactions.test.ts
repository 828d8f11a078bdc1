import { describe, expect, test } from "vitest";
import { at, remove, Scene, status, write, writeExternal } from "../../../test/support/scene.js";

const [a, b] = [at("a"), at("b")];

/** A transaction from 10 to 20 that has locked a (its primary) and b. */
async function locked(): Promise<Scene> {
  const scene = new Scene();
  await scene.lock(a, 10, a, "1");
  await scene.lock(b, 10, a, "1");
  return scene;
}

async function committed(): Promise<Scene> {
  const scene = await locked();
  await scene.commitPrimary(a, 10, 20, "1");
  return scene;
}

test("a complete two-phase commit, a rolled back one, and one-phase commits violate nothing", async () => {
  const scene = await committed();
  await scene.commitSecondary(b, 10, 20, "1");
  await scene.lock(a, 30, a, "2");
  await scene.lock(b, 30, a, "2");
  await scene.rollbackPrimary(a, 30);
  await scene.rollbackSecondary(b, 30);
  await scene.write(a, 20, 40, "3");
  await scene.write(a, 40, 50);
  await scene.safepoint(60);
  await scene.remove(a, "txn", 10);
  await scene.remove(a, "txn", 30);
  expect(scene.watcher.atRest()).toEqual([]);
  expect(scene.violations).toEqual([]);
});

describe("invariants 1 and 2: locks", () => {
  test("two locks on one cell", async () => {
    const scene = await locked();
    await scene.lock(b, 11, b, "2");
    expect(scene.broken).toEqual([1]);
    expect(scene.violations[0]).toMatchObject({
      invariant: 1,
      where: "t/b/c",
      message: "it holds the locks of the transactions at 10, 11",
    });
  });

  test("one lock that is put again counts as one lock", async () => {
    const scene = await locked();
    await scene.lock(a, 10, a, "1", 15);
    expect(scene.broken).toEqual([]);
  });

  test("the lock is still there after the write was put", async () => {
    const scene = await committed();
    await scene.mutate(b, write(b, 10, 20, "1", false));
    expect(scene.broken).toEqual([2]);
  });

  test("a one-phase write that shares a start timestamp with a lock", async () => {
    const scene = new Scene();
    await scene.write(a, 10, 12, "1");
    await scene.lock(a, 13, a, "2");
    expect(scene.broken).toEqual([]);
  });
});

describe("invariants 3 and 4: intervals", () => {
  test("two writers of one cell overlap", async () => {
    const scene = new Scene();
    await scene.write(a, 10, 20, "1");
    await scene.write(a, 15, 30, "2");
    expect(scene.broken).toEqual([3]);
  });

  test("the next writer starts at the commit before it", async () => {
    const scene = new Scene();
    await scene.write(a, 10, 20, "1");
    await scene.write(a, 20, 30, "2");
    await scene.write(a, 40, 50, "2");
    expect(scene.broken).toEqual([]);
  });

  test("a commit from below a newer one", async () => {
    const scene = new Scene();
    await scene.write(a, 20, 30, "1");
    await scene.write(a, 5, 25, "2");
    expect(scene.broken).toEqual([3]);
  });

  test("two commits at one timestamp", async () => {
    const scene = new Scene();
    await scene.write(a, 10, 20, "1");
    await scene.write(a, 11, 20, "2");
    expect(scene.broken).toContain(3);
  });

  test("an overlap with a version that was collected", async () => {
    const scene = new Scene();
    await scene.write(a, 10, 20);
    await scene.safepoint(25);
    await scene.remove(a, "write", 20);
    expect(scene.broken).toEqual([]);
    await scene.write(a, 15, 30, "2");
    expect(scene.broken).toEqual([3]);
  });

  test("an overlap with a lock whose transaction commits", async () => {
    const scene = new Scene();
    await scene.write(b, 5, 15, "1");
    await scene.lock(a, 10, a, "1");
    await scene.lock(b, 10, a, "1");
    expect(scene.broken).toEqual([]);
    await scene.commitPrimary(a, 10, 20, "1");
    expect(scene.broken).toEqual([3]);
  });

  test("a commit at or below its start", async () => {
    const scene = new Scene();
    await scene.write(a, 10, 10, "1");
    expect(scene.broken).toEqual([4]);
  });
});

describe("invariant 5: one commit timestamp", () => {
  test("a secondary is committed at another timestamp", async () => {
    const scene = await committed();
    await scene.commitSecondary(b, 10, 21, "1");
    expect(scene.broken).toContain(5);
  });

  test("the status is put again with another timestamp", async () => {
    const scene = await committed();
    await scene.mutate(a, status(a, 10, 20));
    expect(scene.broken).toEqual([]);
    await scene.mutate(a, status(a, 10, 22));
    expect(scene.broken).toEqual([5]);
  });
});

describe("invariant 6: committed or rolled back", () => {
  test("a tombstone over a commit", async () => {
    const scene = await committed();
    await scene.mutate(a, status(a, 10));
    expect(scene.broken).toEqual([6]);
  });

  test("a commit over a tombstone", async () => {
    const scene = await locked();
    await scene.rollbackPrimary(a, 10);
    await scene.rollbackSecondary(b, 10);
    expect(scene.broken).toEqual([]);
    await scene.mutate(a, status(a, 10, 20));
    expect(scene.broken).toEqual([6]);
  });

  test("a commit after a tombstone that was collected", async () => {
    const scene = await locked();
    await scene.rollbackPrimary(a, 10);
    await scene.rollbackSecondary(b, 10);
    await scene.remove(a, "txn", 10);
    expect(scene.broken).toEqual([]);
    await scene.lock(a, 10, a, "1");
    await scene.commitPrimary(a, 10, 20, "1");
    expect(scene.broken).toContain(6);
  });

  test("the status is removed while a lock exists", async () => {
    const scene = await committed();
    await scene.remove(a, "txn", 10);
    expect(scene.broken).toEqual([6]);
  });
});

describe("invariant 7: all cells with the primary", () => {
  test("a secondary is committed before the primary", async () => {
    const scene = await locked();
    await scene.commitSecondary(b, 10, 20, "1");
    expect(scene.broken).toEqual([7]);
  });

  test("a secondary's lock is removed before the primary is committed", async () => {
    const scene = await locked();
    await scene.rollbackSecondary(b, 10);
    expect(scene.broken).toEqual([]);
    await scene.commitPrimary(a, 10, 20, "1");
    expect(scene.broken).toEqual([7]);
    expect(scene.violations[0]?.where).toBe("t/b/c");
  });

  test("a secondary's lock is removed after the primary is committed", async () => {
    const scene = await committed();
    await scene.rollbackSecondary(b, 10);
    expect(scene.broken).toEqual([7]);
  });

  test("a cell is locked after the commit", async () => {
    const scene = await committed();
    await scene.commitSecondary(b, 10, 20, "1");
    expect(scene.broken).toEqual([]);
    await scene.lock(at("z"), 10, a, "1");
    expect(scene.broken).toEqual([7]);
  });

  test("the written value differs from the locked one", async () => {
    const scene = await committed();
    await scene.commitSecondary(b, 10, 20, "2");
    expect(scene.broken).toEqual([7]);
  });

  test("a secondary uses the reserved timestamp of the commit", async () => {
    const scene = await locked();
    await scene.commitPrimary(b, 10, 20, "1");
    expect(scene.broken).toEqual([7]);
  });
});

describe("invariant 8: nothing of a rolled back transaction", () => {
  test("a write after the rollback", async () => {
    const scene = await locked();
    await scene.rollbackPrimary(a, 10);
    expect(scene.broken).toEqual([]);
    await scene.commitSecondary(b, 10, 20, "1");
    expect(scene.broken).toEqual([8]);
  });

  test("a late prewrite of a secondary is not a write", async () => {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1");
    await scene.rollbackPrimary(a, 10);
    await scene.lock(b, 10, a, "1");
    await scene.rollbackSecondary(b, 10);
    expect(scene.watcher.atRest()).toEqual([]);
  });
});

describe("invariant 9: data", () => {
  const commit = (cell = a) => [writeExternal(cell, 10, 20), remove(cell, "lock", 10)];

  test("a write names data that exists, and is missing later", async () => {
    const scene = new Scene();
    await scene.lockExternal(a, 10, a, "long");
    await scene.mutate(a, ...commit(), status(a, 10, 20));
    expect(scene.broken).toEqual([]);
    await scene.remove(a, "data", 10);
    expect(scene.broken).toEqual([9]);
  });

  test("a write names data that never existed", async () => {
    const scene = new Scene();
    await scene.lockExternal(a, 10, a, "long");
    await scene.remove(a, "data", 10);
    expect(scene.broken).toEqual([]);
    await scene.mutate(a, ...commit(), status(a, 10, 20));
    expect(scene.broken).toEqual([9]);
  });

  test("the data of a committed lock is removed", async () => {
    const scene = new Scene();
    await scene.lock(a, 10, a, "1");
    await scene.lockExternal(b, 10, a, "long");
    await scene.commitPrimary(a, 10, 20, "1");
    expect(scene.broken).toEqual([]);
    await scene.remove(b, "data", 10);
    expect(scene.broken).toEqual([9]);
  });

  test("data that no write names may be removed", async () => {
    const scene = new Scene();
    await scene.lockExternal(a, 10, a, "long");
    await scene.rollbackPrimary(a, 10);
    expect(scene.broken).toEqual([]);
  });
});
