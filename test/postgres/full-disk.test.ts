import { expect, test } from "vitest";
import { onSmallDisk } from "../crash/small-disk.js";
import { shellCommand } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";

test("on a full disk of the tables, commits fail by name with nothing half done, and go on when there is space", async () => {
  const folder = await temporaryFolder();
  try {
    const child = shellCommand("test/postgres/full-disk-child.ts", [folder.path]);
    // The server's account must be able to reach its tables.
    const { status, stdout, stderr } = await onSmallDisk("24m,mode=755", folder.path, child);
    expect(status, stderr.slice(-2_000)).toBe(0);
    expect(stderr).toBe("");
    const { stored, parked, ...found } = JSON.parse(stdout) as Record<string, unknown>;
    expect(stored).toBeGreaterThan(50);
    expect(found).toEqual({
      errors: ["STORE_FULL"],
      full: { wrong: 0, problems: 0 },
      after: { stored: 20, wrong: 0, problems: 0 },
      unmeasured: 0,
      doubled: 0,
    });
    expect(parked).toBe(0);
  } finally {
    await folder.remove();
  }
}, 180_000);
