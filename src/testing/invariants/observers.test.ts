import { describe, expect, test } from "vitest";
import { at, hintOf, recordCell, removeHint, removeUpTo, Scene, write } from "../../../test/support/scene.js";
import { putHint } from "../../transaction/index.js";

const [a, b] = [at("a"), at("b")];

/** Observer "o" of t.c is registered at 5. Cell a is changed at 20, and has its hint. */
async function due(): Promise<Scene> {
  const scene = new Scene();
  await scene.observer("o", 5);
  await scene.hint("o", a, 20);
  await scene.write(a, 10, 20, "1");
  return scene;
}

/** The state after {@link due} and a run at 25. */
async function handled(): Promise<Scene> {
  const scene = await due();
  await scene.acknowledge("o", a, 25, 26);
  await scene.removeHint("o", a, 25);
  return scene;
}

/** Commits a change with its hint. */
async function change(scene: Scene, start: number, commit: number, value?: string): Promise<void> {
  await scene.hint("o", a, commit);
  await scene.write(a, start, commit, value);
}

describe("invariant 14: hints", () => {
  test("a change with its hint, a run, and the removal of the hint", async () => {
    const scene = await handled();
    expect(scene.broken).toEqual([]);
    expect(scene.watcher.atRest()).toEqual([]);
  });

  test("a change without a hint", async () => {
    const scene = new Scene();
    await scene.observer("o", 5);
    await scene.write(a, 10, 20, "1");
    expect(scene.broken).toEqual([14]);
    expect(scene.violations[0]).toMatchObject({ where: "t/a/c", name: "a due observer has its hint" });
  });

  test("a hint below the change: at the start, or at an older commit timestamp", async () => {
    const scene = new Scene();
    await scene.observer("o", 5);
    await scene.hint("o", a, 19);
    await scene.write(a, 10, 20, "1");
    expect(scene.broken).toEqual([14]);
  });

  test("a two-phase change without a hint is due at its commit point, while its lock exists", async () => {
    const scene = new Scene();
    await scene.observer("o", 5);
    await scene.lock(at("z", "other"), 10, at("z", "other"), "1");
    await scene.lock(a, 10, at("z", "other"), "1");
    expect(scene.broken).toEqual([]);
    await scene.commitPrimary(at("z", "other"), 10, 20, "1");
    expect(scene.broken).toEqual([14]);
  });

  test("a hint that is removed before a run commits", async () => {
    const scene = await due();
    await scene.removeHint("o", a, 25);
    expect(scene.broken).toEqual([14]);
  });

  test("a hint that is removed together with one for a change during the run", async () => {
    const scene = await due();
    await change(scene, 25, 26, "2");
    await scene.acknowledge("o", a, 25, 30);
    expect(scene.broken).toEqual([]);
    await scene.removeHint("o", a, 25);
    expect(scene.broken).toEqual([]);
    await scene.removeHint("o", a, 30);
    expect(scene.broken).toEqual([14]);
  });

  test("a parked change needs no hint while it is parked", async () => {
    const scene = await due();
    await scene.park("o", a, 25, 26);
    await scene.removeHint("o", a, 25);
    expect(scene.watcher.atRest()).toEqual([]);
    await scene.write(recordCell("parked", "o", a), 30, 31);
    expect(scene.broken).toEqual([14]);
  });

  test("a retried change has a hint again", async () => {
    const scene = await due();
    await scene.park("o", a, 25, 26);
    await scene.removeHint("o", a, 25);
    await scene.hint("o", a, 31);
    await scene.write(recordCell("parked", "o", a), 30, 31);
    expect(scene.broken).toEqual([]);
  });

  test("changes before the registration need no hint; records of an earlier registration do not count", async () => {
    const scene = new Scene();
    await scene.write(b, 1, 4, "1");
    await scene.observer("o", 5);
    await scene.acknowledge("o", a, 40, 41);
    await scene.unregister("o", 50);
    await scene.write(a, 50, 55, "1");
    await scene.observer("o", 60);
    expect(scene.broken).toEqual([]);
    await scene.hint("o", a, 70);
    await scene.write(a, 60, 70, "2");
    await scene.acknowledge("o", a, 75, 76);
    await scene.removeHint("o", a, 75);
    expect(scene.broken).toEqual([]);
    await scene.unregister("o", 80);
    await scene.hint("o", a, 90);
    await scene.write(a, 80, 90, "3");
    await scene.observer("o", 85);
    expect(scene.broken).toEqual([]);
    await scene.removeHint("o", a, 90);
    expect(scene.broken).toEqual([14]);
  });

  test("a registration that finds a newer change without a hint", async () => {
    const scene = new Scene();
    await scene.write(a, 10, 20, "1");
    await scene.observer("o", 15);
    expect(scene.broken).toEqual([14]);
  });
});

describe("invariant 14: signals", () => {
  async function signalled(atomicBatches = true): Promise<Scene> {
    const scene = new Scene(atomicBatches);
    await scene.observer("o", 5, "signal");
    await scene.hint("o", a, 20);
    return scene;
  }

  test("a hint is removed up to a start timestamp", async () => {
    const scene = await signalled();
    await scene.removeHint("o", a, 25);
    expect(scene.watcher.atRest()).toEqual([]);
  });

  test("a hint is removed up to the start of the run in whose batch that happens, and not beyond", async () => {
    const scene = await signalled();
    const run = (start: number, upTo: number) =>
      scene.batch(
        { cell: at(`run at ${start}`), mutations: [write(b, start, -1, "1", true)] },
        { cell: hintOf("o", a), mutations: [removeHint(a, upTo)] },
      );
    await run(25, 25);
    expect(scene.broken).toEqual([]);
    await scene.hint("o", a, 30);
    await run(27, 30);
    expect(scene.broken).toEqual([14]);
  });

  test("a hint that is renewed", async () => {
    const scene = await signalled();
    await scene.batch(
      { cell: b, mutations: [write(b, 15, -1, "1", true)] },
      { cell: hintOf("o", a), mutations: [removeUpTo(a, "write"), putHint(a.column, -1)] },
    );
    expect(scene.broken).toEqual([]);
  });

  test("a hint is removed up to a commit timestamp", async () => {
    const scene = await signalled(false);
    await scene.lock(b, 15, b, "1");
    await scene.commitPrimary(b, 15, 21, "1");
    expect(scene.broken).toEqual([]);
    await scene.removeHint("o", a, 21);
    expect(scene.broken).toEqual([14]);
  });

  test("a parked change needs no hint", async () => {
    const scene = await signalled(false);
    await scene.lock(b, 15, b, "1");
    await scene.commitPrimary(b, 15, 20, "1");
    await scene.park("o", a, 20, 25);
    await scene.removeHint("o", a, 20);
    expect(scene.broken).toEqual([]);
  });
});

describe("invariant 15: one committed run per change", () => {
  test("a second run without a change", async () => {
    const scene = await handled();
    await scene.acknowledge("o", a, 30, 31);
    expect(scene.broken).toEqual([15]);
  });

  test("a second run for a change that came after it", async () => {
    const scene = await handled();
    await change(scene, 30, 40, "2");
    await scene.acknowledge("o", a, 39, 45);
    expect(scene.broken).toEqual([15]);
  });

  test("a second run for a change", async () => {
    const scene = await handled();
    await change(scene, 30, 40, "2");
    await scene.acknowledge("o", a, 40, 45);
    expect(scene.broken).toEqual([]);
  });

  test("a second run in another version", async () => {
    const scene = await handled();
    await scene.acknowledge("o", a, 30, 31, 2);
    expect(scene.broken).toEqual([]);
  });

  test("a discarded change counts as handled", async () => {
    const scene = await handled();
    await scene.park("o", a, 30, 31);
    await scene.acknowledge("o", a, 30, 35);
    expect(scene.broken).toEqual([]);
  });
});

describe("invariant 16: at rest", () => {
  test("a lock, a hint and a due observer", async () => {
    const scene = await due();
    await scene.lock(b, 30, b, "1");
    expect(scene.violations).toEqual([]);
    expect(scene.watcher.atRest({ drained: false, resolved: false })).toEqual([]);
    const seen = scene.watcher.atRest();
    expect(seen.map(({ invariant, where }) => [invariant, where])).toEqual([
      [16, "t/a/c"],
      [16, "t/b/c"],
      [16, "t/a/c"],
    ]);
    expect(scene.violations).toEqual(seen);
  });
});

describe("invariant 17: collection", () => {
  async function versions(...commits: readonly number[]): Promise<Scene> {
    const scene = new Scene();
    let start = 1;
    for (const commit of commits) {
      await scene.write(a, start, commit, String(commit));
      start = commit;
    }
    return scene;
  }

  test("versions below the newest one at or below the safepoint are removed", async () => {
    const scene = await versions(10, 20, 30);
    await scene.safepoint(20);
    await scene.remove(a, "write", 10);
    expect(scene.watcher.atRest()).toEqual([]);
  });

  test("nothing is removed without a safepoint", async () => {
    const scene = await versions(10, 20);
    await scene.remove(a, "write", 10);
    expect(scene.broken).toEqual([17]);
  });

  test("a version that is visible at the safepoint", async () => {
    const scene = await versions(10, 20, 30);
    await scene.safepoint(29);
    await scene.remove(a, "write", 20);
    expect(scene.broken).toEqual([17]);
  });

  test("a version above the safepoint", async () => {
    const scene = await versions(10, 20, 30, 40);
    await scene.safepoint(29);
    await scene.remove(a, "write", 30);
    expect(scene.broken).toEqual([17]);
  });

  async function deleted(): Promise<Scene> {
    const scene = await versions(10);
    await scene.write(a, 10, 20);
    await scene.safepoint(30);
    return scene;
  }

  test("a delete marker is removed after the versions that it hides", async () => {
    const scene = await deleted();
    await scene.remove(a, "write", 10);
    await scene.remove(a, "write", 20);
    expect(scene.watcher.atRest()).toEqual([]);
  });

  test("a delete marker is removed before the versions that it hides", async () => {
    const scene = await deleted();
    await scene.remove(a, "write", 20);
    expect(scene.broken).toEqual([17]);
  });

  test("a delete marker is removed under a lock, under a newer write, or above the safepoint", async () => {
    for (const above of ["lock", "write", "safepoint"] as const) {
      const scene = await versions(10);
      await scene.write(a, 10, 20);
      await scene.safepoint(above === "safepoint" ? 19 : 30);
      if (above === "lock") await scene.lock(a, 40, a, "1");
      if (above === "write") await scene.write(a, 40, 45, "1");
      await scene.mutate(a, removeUpTo(a, "write", 20));
      expect(scene.broken).toEqual([17]);
    }
  });

  test("the version that `previous` needs stays until the next run", async () => {
    const scene = await handled();
    await change(scene, 30, 40, "2");
    await scene.safepoint(50);
    await scene.acknowledge("o", a, 55, 56);
    await scene.remove(a, "write", 20);
    expect(scene.broken).toEqual([]);

    const early = await handled();
    await change(early, 30, 40, "2");
    await early.safepoint(50);
    await early.remove(a, "write", 20);
    expect(early.broken).toEqual([17]);
  });

  test("an acknowledgment of a collected change", async () => {
    const scene = await due();
    await change(scene, 30, 40, "2");
    await scene.safepoint(50);
    await scene.remove(a, "write", 20);
    expect(scene.broken).toEqual([]);
    await scene.park("o", a, 25, 51);
    await scene.acknowledge("o", a, 25, 52);
    expect(scene.broken).toEqual([17]);
  });

  test("a delete marker is removed with the acknowledgment that covers it", async () => {
    const scene = await handled();
    await change(scene, 30, 40);
    await scene.acknowledge("o", a, 45, 46);
    await scene.removeHint("o", a, 45);
    await scene.safepoint(50);
    await scene.remove(a, "write", 20);
    const acknowledgment = recordCell("ack", "o", a);
    await scene.mutate(a, removeUpTo(a, "write", 40), removeUpTo(acknowledgment, "write", 50));
    expect(scene.watcher.atRest()).toEqual([]);
    // The next change begins the same sequence again.
    await change(scene, 55, 60, "3");
    await scene.acknowledge("o", a, 65, 66);
    await scene.removeHint("o", a, 65);
    expect(scene.watcher.atRest()).toEqual([]);
  });

  test("a delete marker is removed before it is acknowledged", async () => {
    const scene = await handled();
    await change(scene, 30, 40);
    await scene.safepoint(50);
    await scene.remove(a, "write", 20);
    scene.violations.length = 0;
    await scene.remove(a, "write", 40);
    expect(scene.broken).toEqual([17]);
  });

  test("a delete marker from before the registration is removed without an acknowledgment", async () => {
    const scene = await deleted();
    await scene.observer("o", 25);
    await scene.remove(a, "write", 10);
    await scene.remove(a, "write", 20);
    expect(scene.broken).toEqual([]);
  });

  test("a delete marker from before the registration is removed before a backfill of which the collection did not know", async () => {
    const scene = await deleted();
    await scene.observer("o", 25);
    await scene.backfill("o", 35);
    await scene.remove(a, "write", 10);
    await scene.remove(a, "write", 20);
    expect(scene.broken).toEqual([]);
  });

  test("a delete marker from after the registration is removed without an acknowledgment", async () => {
    const scene = await versions(10);
    await scene.observer("o", 15);
    await change(scene, 16, 20);
    await scene.safepoint(30);
    await scene.remove(a, "write", 10);
    await scene.remove(a, "write", 20);
    expect(scene.broken).toEqual([17]);
  });

  test("an acknowledgment is removed alone", async () => {
    const scene = await handled();
    await scene.safepoint(50);
    await scene.mutate(a, removeUpTo(recordCell("ack", "o", a), "write", 50));
    expect(scene.broken).toContain(17);
  });
});
