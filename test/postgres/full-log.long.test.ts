import { expect, test } from "vitest";
import { onSmallDisk } from "../crash/small-disk.js";
import { shellCommand } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";

test("a server that ends because its log is full loses no acknowledged commit, and work goes on when there is space", async () => {
  const folder = await temporaryFolder();
  try {
    const child = shellCommand("test/postgres/full-log-child.ts", [folder.path]);
    // The server's account must be able to reach its log.
    const { status, stdout, stderr } = await onSmallDisk("192m,mode=755", folder.path, child);
    expect(status, stderr.slice(-2_000)).toBe(0);
    const { stored, errors, ...found } = JSON.parse(stdout) as Record<string, unknown>;
    expect(stored).toBeGreaterThan(500);
    // By name: the server was away, or ended before it answered.
    expect(errors).not.toEqual([]);
    for (const error of errors as readonly string[]) expect(error).toMatch(/^[A-Z_]+$/);
    expect(found).toEqual({ later: 20, wrong: 0, problems: 0, unmeasured: 0, doubled: 0 });
  } finally {
    await folder.remove();
  }
}, 300_000);
