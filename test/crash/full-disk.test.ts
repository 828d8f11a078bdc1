import { expect, test } from "vitest";
import { shellCommand } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";
import type { Ran } from "./run.js";
import { onSmallDisk } from "./small-disk.js";

const child = shellCommand("test/crash/full-disk-child.ts");
const othersChild = shellCommand("test/crash/filled-by-others-child.ts");
const holesChild = shellCommand("test/crash/holes-child.ts");
const lockFileChild = shellCommand("test/crash/lock-file-child.ts");

function expectWentOn({ status, stdout, stderr }: Ran): void {
  expect(status, stderr.slice(-2_000)).toBe(0);
  // LMDB writes its own messages to stderr directly, not through Node.
  expect(stderr).toBe("");
  const { told, errors } = JSON.parse(stdout.split("\n").at(-2)!) as {
    told: number;
    errors: Record<string, number>;
  };
  expect(told).toBeGreaterThan(100);
  expect(Object.keys(errors)).toEqual(["STORE_FULL"]);
}

test("on a full file system writes fail with a named error, and no data is lost", async () => {
  const folder = await temporaryFolder();
  try {
    expectWentOn(await onSmallDisk("10m", folder.path, `exec ${child} "${folder.path}"`));
  } finally {
    await folder.remove();
  }
}, 180_000);

test("on a file system filled by other files, deletes, garbage collection and short values still work", async () => {
  const folder = await temporaryFolder();
  try {
    const { status, stdout, stderr } = await onSmallDisk(
      "16m",
      folder.path,
      `exec ${othersChild} "${folder.path}"`,
    );
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const went = { delete: true, collect: true, short: true, long: false };
    expect(JSON.parse(stdout)).toEqual([went, went]);
  } finally {
    await folder.remove();
  }
}, 180_000);

test("on a full file system free pages that are holes of a sparse file do not count as space", async () => {
  const folder = await temporaryFolder();
  try {
    const { status, stdout, stderr } = await onSmallDisk(
      "24m",
      folder.path,
      `exec ${holesChild} "${folder.path}"`,
    );
    expect(status, stderr).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ whole: true, holes: false });
  } finally {
    await folder.remove();
  }
}, 180_000);

test("on a full disk a restored backup without a lock file is refused with a named error, and opens when there is space", async () => {
  const folder = await temporaryFolder();
  try {
    const script = [
      `cd ${JSON.stringify(process.cwd())}`,
      `${lockFileChild} fill "${folder.path}/data"`,
      `rm "${folder.path}/data/lock.mdb"`,
      `dd if=/dev/zero of="${folder.path}/ballast" bs=4096 2>/dev/null || true`,
      `${lockFileChild} open "${folder.path}/data"`,
      `ls "${folder.path}/data"`,
      `rm "${folder.path}/ballast"`,
      `${lockFileChild} open "${folder.path}/data"`,
    ];
    const { status, stdout, stderr } = await onSmallDisk("2m", folder.path, script.join("\n"));
    expect(status, stderr.slice(-2_000)).toBe(0);
    expect(stdout.trim().split("\n")).toEqual(["filled", "STORE_FULL", "data.mdb", "value"]);
  } finally {
    await folder.remove();
  }
}, 180_000);
