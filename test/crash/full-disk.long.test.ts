import { expect, test } from "vitest";
import { shellCommand } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";
import { onSmallDisk } from "./small-disk.js";

const makeRoomChild = shellCommand("test/crash/make-room-child.ts");
const freePagesChild = shellCommand("test/crash/free-pages-child.ts");
const neighbourChild = shellCommand("test/crash/full-disk-neighbour-child.ts");
const roomChild = shellCommand("test/crash/room-child.ts");
const loadChild = shellCommand("test/crash/full-disk-load-child.ts");

/** What test/crash/room-child.ts found for one number of free bytes. */
interface RoomFound {
  readonly long: number;
  readonly ahead: number;
  readonly short: number;
  readonly deletes: boolean;
  readonly system: boolean;
  /** Long values in blocks of a bulk load. */
  readonly filled: number;
  readonly afterFills: boolean;
}

test.each(["a", "b"])(
  "on a full file system deletes and garbage collection make space (seed %s)",
  async (seed) => {
    const folder = await temporaryFolder();
    try {
      const command = `exec ${makeRoomChild} "${folder.path}" ${seed}`;
      const { status, stdout, stderr } = await onSmallDisk("16m", folder.path, command);
      expect(stderr).toBe("");
      expect(status).toBe(0);
      const written = JSON.parse(stdout) as Record<string, number>;
      for (const count of Object.values(written)) expect(count, stdout).toBeGreaterThan(50);
    } finally {
      await folder.remove();
    }
  },
  180_000,
);

test("on a full file system a long list of free pages does not delay transactions", async () => {
  const folder = await temporaryFolder();
  try {
    const { status, stdout, stderr } = await onSmallDisk(
      "24m",
      folder.path,
      `exec ${freePagesChild} "${folder.path}"`,
    );
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ delete: true, short: true, collect: true, long: true });
  } finally {
    await folder.remove();
  }
}, 180_000);

test("several processes on a full file system get a named error, and LMDB prints nothing", async () => {
  const folder = await temporaryFolder();
  try {
    const seeds = ["a", "b", "c"];
    const children = seeds.map((seed) => `${neighbourChild} "${folder.path}/data" ${seed} & ${seed}=$!`);
    const script = [...children, ...seeds.map((seed) => `wait $${seed}`)].join("\n");
    const { status, stdout, stderr } = await onSmallDisk("18m", folder.path, script);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const went = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, number>);
    expect(went).toHaveLength(seeds.length);
    for (const { written, refused } of went) {
      expect(written, stdout).toBeGreaterThan(50);
      expect(refused, stdout).toBeGreaterThan(0);
    }
  } finally {
    await folder.remove();
  }
}, 180_000);

test.each([400_000, 5_000])(
  "values that fit into one transaction fit together; some short values fit after values of %i bytes, and deletes fit after both",
  async (bytes) => {
    const folder = await temporaryFolder();
    try {
      const free = [0, 1_000_000, 3_000_000, 4_300_000, 8_000_000];
      const command = `exec ${roomChild} "${folder.path}" ${bytes} ${free.join(" ")}`;
      const { status, stdout, stderr } = await onSmallDisk("24m", folder.path, command);
      expect(status, stderr).toBe(0);
      const [none, ...some] = JSON.parse(stdout) as readonly RoomFound[];
      const nothing = { long: 0, ahead: 0, short: 0, deletes: false, system: false };
      expect(none).toEqual({ ...nothing, filled: 0, afterFills: false });
      for (const [index, { long, ahead, short, filled, afterFills, ...others }] of some.entries()) {
        const left = free[index + 1]!;
        expect(long).toBeGreaterThan(0);
        expect(long * bytes).toBeLessThan(left);
        expect(short).toBeGreaterThan(5);
        expect(short).toBeLessThan(left / 4_096);
        // `ahead` counts the values for which the data file was not extended. There are two kinds:
        // values after which 4 MiB of the disk are still free for other programs, and values that
        // fit into the 1.4 MB by which the file was extended at the beginning.
        expect(ahead * bytes).toBeLessThan(Math.max(0, left - 4 * 1_024 ** 2) + 1_600_000);
        expect(others).toEqual({ deletes: true, system: true });
        // A block of three values of 400,000 bytes does not fit into the least space.
        if (index > 0) expect(filled).toBeGreaterThan(0);
        expect(filled * bytes).toBeLessThan(left);
        expect(afterFills).toBe(true);
      }
    } finally {
      await folder.remove();
    }
  },
  180_000,
);

test.each([
  ["short", 200],
  ["long", 300_000],
])(
  "on a full file system a bulk load of %s values fails with a named error, and can be discarded",
  async (_, bytes) => {
    const folder = await temporaryFolder();
    try {
      const command = `exec ${loadChild} "${folder.path}/data" ${bytes}`;
      const { status, stdout, stderr } = await onSmallDisk("32m", folder.path, command);
      // LMDB would print a failed write to stderr.
      expect(stderr).toBe("");
      expect(status).toBe(0);
      const { storedBytes, ...went } = JSON.parse(stdout) as Record<string, unknown>;
      expect(went).toEqual({
        first: "STORE_FULL",
        again: "STORE_FULL",
        grew: true,
        discarded: "none",
        left: 0,
        second: "none",
        missing: 0,
        problems: 0,
      });
      expect(storedBytes).toBeGreaterThan(3_000_000);
    } finally {
      await folder.remove();
    }
  },
  180_000,
);
