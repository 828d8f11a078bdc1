import { describe, expect, test } from "vitest";
import { crowd } from "./life.js";
import { cutPower, type Loss } from "./power-cut.js";
import { Random } from "./random.js";
import { run } from "./run.js";
import type { Trace, TracedWrite } from "./trace.js";

/**
 * For traces made by hand: a write that fills a range with one letter, between two line numbers.
 */
function write(letter: string, offset: number, length: number, begun: number, ended = begun): TracedWrite {
  return { begun, ended, offset, bytes: Buffer.alloc(length, letter), synced: false };
}

function imageOf(writes: readonly TracedWrite[], syncs: Trace["syncs"], at: number, loss: Loss): string {
  const trace: Trace = { writes, syncs, told: [], lines: 100 };
  const { image } = cutPower(trace, at, loss, new Random(1));
  // One letter for each sector.
  return Array.from({ length: image.length / 512 }, (_, sector) => {
    const byte = image[sector * 512]!;
    return byte === 0 ? "." : String.fromCharCode(byte);
  }).join("");
}

describe("a power cut", () => {
  const page = 4_096;
  const writes = [write("a", 0, 2 * page, 1), write("b", 0, page, 5), write("c", page, page, 7, 12)];

  test("keeps writes that were answered before a completed sync began, and of the others those that the disk had", () => {
    const syncs = [{ begun: 3, ended: 4 }];
    expect(imageOf(writes, syncs, 20, "all lost")).toBe("aaaaaaaaaaaaaaaa");
    expect(imageOf(writes, syncs, 20, "none lost")).toBe("bbbbbbbbcccccccc");
    expect(imageOf(writes, syncs, 6, "none lost")).toBe("bbbbbbbbaaaaaaaa");
    expect(imageOf(writes, [], 20, "all lost")).toBe("");
  });

  test("can lose writes in progress when a sync began, and writes that an unfinished sync should have made safe", () => {
    expect(imageOf(writes, [{ begun: 9, ended: 15 }], 20, "all lost")).toBe("bbbbbbbbaaaaaaaa");
    expect(imageOf(writes, [{ begun: 13, ended: 25 }], 20, "all lost")).toBe("");
    expect(imageOf([{ ...writes[0]!, synced: true }], [], 20, "all lost")).toBe("aaaaaaaaaaaaaaaa");
  });

  test("tears pages between sectors, and only if the order of writes allows it", () => {
    const torn = new Set<string>();
    const trace: Trace = { writes, syncs: [{ begun: 3, ended: 4 }], told: [], lines: 100 };
    for (let seed = 0; seed < 20; seed++) {
      const { image } = cutPower(trace, 20, "some sectors lost", new Random(seed));
      for (let sector = 0; sector < 16; sector++) {
        expect(sector < 8 ? "ab" : "ac").toContain(String.fromCharCode(image[sector * 512]!));
      }
      torn.add(image.toString("latin1"));
    }
    expect(torn.size).toBeGreaterThan(10);
  });
});

/**
 * If processes cannot be traced, fails and names the package to install. A power cut that was not
 * tested must not look tested.
 */
async function expectSound(...args: string[]): Promise<void> {
  const { status, stdout, stderr } = await run(process.execPath, [
    ..."--import tsx test/crash/power-main.ts".split(" "),
    ...args,
  ]);
  expect(status, `${stdout.slice(-3_000)}${stderr.slice(-3_000)}`).toBe(0);
  expect(stdout).toMatch(/, 0 bad\.\n$/);
}

test(
  "one process: every possible state of the disk opens, is sound, and has all confirmed commits",
  () => expectSound("--course", "one", "--states", "8", "--most", "40"),
  300_000,
);

test(
  "one process without durability: the newest commits may be lost, in order, and no state is torn",
  () => expectSound("--course", "one", "--durability", "none", "--states", "8", "--most", "40"),
  300_000,
);

test(
  "two processes on one folder, with two-phase commits",
  () => expectSound("--course", "two", "--commit", "two-phase", "--states", "8", "--most", "16"),
  300_000,
);

test(
  "one process with so many transactions at a time that they are divided over groups",
  () =>
    expectSound(
      ...["--course", "one", "--slow", "--states", "12", "--most", "1500"],
      ...["--concurrency", String(crowd)],
    ),
  300_000,
);

test(
  "processes that continue after others were killed before their flush",
  () => expectSound("--course", "killed", "--slow", "--states", "16", "--most", "50"),
  300_000,
);
