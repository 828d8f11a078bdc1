import { cp } from "node:fs/promises";
import { join } from "node:path";
import { open, StoreError, table, text } from "percolatordb";
import { expect, test } from "vitest";
import { run } from "../crash/run.js";
import { temporaryFolder } from "../support/databases.js";

const things = table("things", { name: text() });

test.each(["with its lock file", "without"])(
  "a folder on a file system that can only be read is read by commands, %s",
  async (lockFile) => {
    const folder = await temporaryFolder();
    try {
      const data = join(folder.path, "data");
      const db = await open(data, { tables: [things] });
      await db.transact((tx) => tx.set(things.name, "one", "value"));
      await db.close();
      const own = process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--map-root-user"];
      const cli = `"${process.execPath}" --import tsx src/cli/main.ts`;
      const script = [
        lockFile === "without" ? `rm "${data}/lock.mdb"` : "true",
        `mount --bind "${data}" "${data}"`,
        `mount -o remount,bind,ro "${data}"`,
        `! touch "${data}/x" 2>/dev/null`,
        `${cli} get "${data}" things.name one`,
        `${cli} check "${data}"`,
        `! ${cli} set "${data}" things.name one other`,
      ];
      const { status, stdout, stderr } = await run("unshare", [...own, "sh", "-ec", script.join("\n")]);
      expect(status, stderr.slice(-2_000)).toBe(0);
      expect(stdout.trim().split("\n")).toEqual(["value", "no problems"]);
      expect(stderr).toMatch(/could not be opened|can only be read|Read-only/i);
    } finally {
      await folder.remove();
    }
  },
  180_000,
);

test("a database that was opened readOnly reads, and refuses to write before anything is done", async () => {
  const folder = await temporaryFolder();
  try {
    const data = join(folder.path, "data");
    const db = await open(data, { tables: [things] });
    await db.transact((tx) => tx.set(things.name, "one", "value"));
    await db.close();
    const copy = join(folder.path, "copy");
    await cp(data, copy, { recursive: true });
    const more = table("more", { name: text() });
    await using reading = await open(copy, { readOnly: true, tables: [things, more], retentionMs: 1 });
    await using snapshot = await reading.snapshot();
    expect(await snapshot.get(things.name, "one")).toBe("value");
    expect(await snapshot.get(more.name, "one")).toBeUndefined();
    expect([...(await reading.tables()).keys()]).toEqual(["things"]);
    let isRun = false;
    const writes = [
      () =>
        reading.transact(() => {
          isRun = true;
        }),
      () => reading.begin(),
      () => reading.collect(),
      () => reading.drain(),
      async () => reading.work(),
    ];
    for (const write of writes) {
      const error = await write().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(StoreError);
      expect(String(error)).toContain("was opened readOnly");
    }
    expect(isRun).toBe(false);
    await expect(open(join(folder.path, "none"), { readOnly: true })).rejects.toThrow("There is no database");
  } finally {
    await folder.remove();
  }
});
