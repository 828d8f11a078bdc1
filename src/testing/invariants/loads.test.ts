import { describe, expect, test } from "vitest";
import { at, recordCell, remove, Scene } from "../../../test/support/scene.js";
import { type CellAddress, encodeTimestamp, encodeWrite } from "../../transaction/index.js";

const [a, b, outside] = [at("a"), at("b"), at("x")];
const start = 10;
const timestamp = 20;

/** A load of the rows before "m" of the table "t", at timestamp 20, whose ranges are closed. */
async function loading(atomicBatches = true): Promise<Scene> {
  const scene = new Scene(atomicBatches);
  await scene.loadState(start, 12, "loading");
  return scene;
}

async function published(): Promise<Scene> {
  const scene = await loading();
  await scene.loaded(a, start, timestamp, "1");
  await scene.loaded(b, start, timestamp, "2");
  await scene.loadState(start, 40, "published");
  return scene;
}

/** Reports a read to the watcher. */
function read({ watcher }: Scene, at: number, cell: CellAddress, value: string | undefined): void {
  watcher.read({
    ...cell,
    start: at,
    commit: undefined,
    value: value === undefined ? undefined : Buffer.from(value),
  });
}

test("a load that is published, read, overwritten and collected violates nothing", async () => {
  const scene = await loading();
  await scene.loaded(a, start, timestamp, "1");
  read(scene, 30, a, undefined);
  await scene.loaded(b, start, timestamp, "2");
  // A repeated batch.
  await scene.loaded(b, start, timestamp, "2");
  await scene.loadState(start, 40, "published");
  await scene.loaded(b, start, timestamp, "2");
  read(scene, 39, a, undefined);
  read(scene, 40, a, "1");
  await scene.write(a, 40, 50, "3");
  await scene.write(at("c"), 41, 51, "3");
  read(scene, 49, a, "1");
  await scene.safepoint(60);
  await scene.remove(a, "write", timestamp);
  expect(scene.watcher.atRest()).toEqual([]);
  expect(scene.violations).toEqual([]);
});

test("a load that is discarded violates nothing, and its ranges can be written again", async () => {
  const scene = await loading();
  await scene.loaded(a, start, timestamp, "1");
  // A call that takes the load over removes what is beyond its position, and may put other rows.
  await scene.remove(a, "write", timestamp);
  await scene.loaded(a, start, timestamp, "other");
  await scene.loadState(start, 30, "discarding");
  await scene.remove(a, "write", timestamp);
  await scene.loadState(start, 32, undefined);
  await scene.write(a, 15, 41, "2");
  expect(scene.watcher.atRest()).toEqual([]);
  expect(scene.violations).toEqual([]);
});

test("a watcher adopts loads", async () => {
  const scene = await published();
  await scene.loadState(50, 52, "loading", "u");
  await scene.loaded({ ...a, table: "u" }, 50, 53, "1");
  const second = scene.watch();
  second.adopt(["t", "u"]);
  second.read({ ...a, start: 30, commit: undefined, value: undefined });
  second.read({ ...a, start: 40, commit: 20, value: Buffer.from("1") });
  second.read({ ...a, table: "u", start: 60, commit: undefined, value: undefined });
  await scene.loadState(50, 70, "published", "u");
  second.read({ ...a, table: "u", start: 70, commit: 53, value: Buffer.from("1") });
  expect(second.atRest()).toEqual([]);
  expect(scene.violations).toEqual([]);
});

describe("invariant 10: reads of loaded cells", () => {
  test.each([
    ["before the publication", 39, "1"],
    ["after it", 40, undefined],
  ])("a read %s", async (_, at, value) => {
    const scene = await published();
    read(scene, at, a, value);
    expect(scene.broken).toEqual([10]);
  });

  test("a publication below a read", async () => {
    const scene = await loading();
    await scene.loaded(a, start, timestamp, "1");
    read(scene, 45, a, undefined);
    await scene.loadState(start, 40, "published");
    expect(scene.violations).toMatchObject([
      { invariant: 10, message: "the bulk load 10 was published at 40 after the cell had been read at 45" },
    ]);
  });
});

describe("invariant 14: observers of loaded cells", () => {
  test.each([true, false])("with an acknowledgment: %s", async (isAcknowledged) => {
    const scene = new Scene();
    await scene.observer("o", 5);
    await scene.loadState(start, 12, "loading");
    await scene.loaded(a, start, timestamp, "1");
    if (isAcknowledged) {
      const value = Buffer.concat([encodeTimestamp(timestamp), Buffer.from([0, 0, 0, 1, 0, 0, 0, 0])]);
      await scene.loaded(recordCell("ack", "o", a), start, timestamp, value);
    }
    expect(scene.broken).toEqual([]);
    await scene.loadState(start, 40, "published");
    expect(scene.broken).toEqual(isAcknowledged ? [] : [14]);
  });
});

describe("invariant 19: a load is there as a whole, or not at all", () => {
  test.each(["published", "discarding", undefined] as const)(
    "a record that arrives when it is %s",
    async (state) => {
      const scene = await loading();
      await scene.loadState(start, 30, state);
      await scene.loaded(a, start, timestamp, "1");
      expect(scene.broken).toEqual([19]);
    },
  );

  test("without atomic batches, a record may arrive after it was discarded, but not after its publication", async () => {
    for (const state of ["discarding", undefined, "published"] as const) {
      const scene = await loading(false);
      await scene.loadState(start, 30, state);
      await scene.loaded(a, start, timestamp, "1");
      expect(scene.broken).toEqual(state === "published" ? [19] : []);
    }
  });

  test("a changed record after the publication", async () => {
    const scene = await published();
    await scene.loaded(a, start, timestamp, "other");
    expect(scene.violations[0]).toMatchObject({
      invariant: 19,
      where: "t/a/c",
      message: "bulk load 10: a record was put here when it was published",
    });
  });

  test("records that are left when the registry forgets it", async () => {
    const scene = await loading();
    await scene.loaded(a, start, timestamp, "1");
    await scene.loadState(start, 30, "discarding");
    await scene.loadState(start, 32, undefined);
    expect(scene.broken).toEqual([19]);
  });

  test("a published load that is discarded", async () => {
    const scene = await published();
    await scene.loadState(start, 50, "discarding");
    expect(scene.violations[0]).toMatchObject({ invariant: 19, where: "the registry" });
  });

  test("records with two timestamps, and a record outside of the ranges", async () => {
    const scene = await loading();
    await scene.loaded(a, start, timestamp, "1");
    await scene.loaded(b, start, timestamp + 1, "1");
    await scene.loaded(outside, start, timestamp, "1");
    expect(scene.violations.map(({ invariant, where }) => [invariant, where])).toEqual([
      [19, "t/b/c"],
      [19, "t/x/c"],
    ]);
  });

  test("a range that was not empty", async () => {
    const scene = await loading();
    await scene.write(at("c"), 11, 15, "1");
    await scene.write(outside, 11, 16, "1");
    await scene.loaded(a, start, timestamp, "1");
    expect(scene.violations.map(({ invariant, where }) => [invariant, where])).toEqual([[19, "t/c/c"]]);
  });

  test("transactions that write in the range", async () => {
    const scene = await published();
    await scene.write(outside, 30, 45, "1");
    expect(scene.broken).toEqual([]);
    await scene.write(at("c"), 30, 45, "1");
    expect(scene.violations.map(({ invariant, where }) => [invariant, where])).toEqual([[19, "t/c/c"]]);

    const unpublished = await loading();
    await unpublished.loaded(a, start, timestamp, "1");
    await unpublished.write(at("c"), 30, 45, "1");
    expect(unpublished.broken).toEqual([19]);
  });
});

test("invariant 9: a loaded record whose value is missing", async () => {
  const scene = await loading();
  const value = encodeWrite({ start, kind: "put", onePhase: false, loaded: true, value: undefined });
  await scene.mutate(a, { type: "put", column: a.column, part: "write", timestamp, value });
  await scene.loadState(start, 40, "published");
  expect(scene.broken).toEqual([9]);
});

test("invariant 17: a published record that a read needs is dropped", async () => {
  const scene = await published();
  await scene.mutate(a, remove(a, "write", timestamp));
  expect(scene.broken).toEqual([17]);
});
