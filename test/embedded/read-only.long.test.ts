import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { open, StoreError, table, text } from "percolatordb";
import { expect, test } from "vitest";
import { run } from "../crash/run.js";
import { root, shellCommand } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";

const things = table("things", { name: text() });
const ownMounts = process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--map-root-user"];

/** Fails the script if the command succeeds. The shell's own `!` would not do that. */
const refused = (command: string) =>
  `if ${command}; then echo "succeeded: ${command.replaceAll('"', "")}" >&2; exit 9; fi`;

test.each(["with its lock file", "without"])(
  "commands can read a folder on a read-only file system, %s",
  async (lockFile) => {
    const folder = await temporaryFolder();
    try {
      const data = join(folder.path, "data");
      const db = await open(data, { tables: [things] });
      await db.transact((tx) => tx.set(things.name, "one", "value"));
      await db.close();
      const cli = shellCommand("src/cli/main.ts");
      const script = [
        lockFile === "without" ? `rm "${data}/lock.mdb"` : "true",
        `mount --bind "${data}" "${data}"`,
        `mount -o remount,bind,ro "${data}"`,
        refused(`touch "${data}/x" 2>/dev/null`),
        `${cli} get "${data}" things.name one`,
        `${cli} check "${data}"`,
        `${cli} locks "${data}" --json`,
        `${cli} parked "${data}" --json`,
        `${cli} doctor "${data}"`,
        refused(`${cli} doctor "${data}" --write`),
        refused(`${cli} locks "${data}" --resolve`),
        refused(`${cli} parked "${data}" --retry`),
        refused(`${cli} set "${data}" things.name one other`),
        refused(`${cli} init "${data}/new"`),
      ];
      const { status, stdout, stderr } = await run("unshare", [...ownMounts, "sh", "-ec", script.join("\n")]);
      expect(status, stderr.slice(-2_000)).toBe(0);
      const lines = stdout.trim().split("\n");
      expect(lines.slice(0, 2)).toEqual(["value", "no problems"]);
      expect(lines.filter((line) => /^WARNING +permissions +read-only/.test(line))).toHaveLength(1);
      // `doctor --write` reports as a problem what `doctor` reports as a warning.
      expect(lines.filter((line) => /^PROBLEM +permissions +read-only/.test(line))).toHaveLength(1);
      const refusals = stderr.split("\n").filter((line) => line.includes("could not be opened"));
      expect(refusals).not.toEqual([]);
      for (const refusal of refusals) expect(refusal).toContain("The file system is read-only.");
    } finally {
      await folder.remove();
    }
  },
  180_000,
);

test.each(["with its lock file", "without"])(
  "a reader that cannot lock the folder ends with an error after another process has written, %s",
  async (lockFile) => {
    const folder = await temporaryFolder();
    try {
      const [data, view] = [join(folder.path, "data"), join(folder.path, "view")];
      await mkdir(view);
      const db = await open(data, { tables: [things], durability: "none", collectEveryMs: 0 });
      await db.transact((tx) => {
        tx.set(things.name, "one", "value".repeat(20_000));
        tx.set(things.name, "other", "value");
      });
      const script = [
        `mount --bind "${data}" "${view}"`,
        `mount -o remount,bind,ro "${view}"`,
        `exec ${shellCommand("test/embedded/read-only-child.ts", [view])}`,
      ];
      if (lockFile === "without") await db.close();
      if (lockFile === "without") await rm(join(data, "lock.mdb"));
      const child = spawn("unshare", [...ownMounts, "sh", "-ec", script.join("\n")], {
        cwd: root,
        stdio: ["pipe", "pipe", "inherit"],
      });
      const exit = once(child, "exit");
      const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const answer = async () => JSON.parse((await answers.next()).value) as Record<string, unknown>;
      const sound = {
        refused: [],
        lent: [],
        one: "value",
        found: { one: "value", other: "value" },
        problems: [],
      };
      const everyRead = ["readRow", "readRange", "readRaw", "splitPoints", "counter", "verify"];
      expect(await answer()).toEqual(sound);
      child.stdin.write("\n");
      expect(await answer()).toEqual(sound);
      await using writing = lockFile === "without" ? await open(data, { tables: [things] }) : db;
      // The first write keeps the pages that the reader has seen. Each later write reuses the pages
      // of the write before it.
      for (const writes of [1, 30]) {
        for (let i = 0; i < writes; i++) {
          await writing.transact((tx) => tx.set(things.name, "one", `${i}`.repeat(50_000)));
        }
        child.stdin.write("\n");
        const changed = { code: "STORE_CHANGED", message: expect.stringContaining(view) };
        expect(await answer()).toEqual({
          refused: everyRead,
          lent: [],
          one: changed,
          found: changed,
          problems: changed,
        });
      }
      child.stdin.end();
      expect(await exit).toEqual([0, null]);
    } finally {
      await folder.remove();
    }
  },
  180_000,
);

test("a database that was opened with `readOnly` reads, and refuses to write before it does anything", async () => {
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
      expect(String(error)).toContain("was opened with `readOnly`");
    }
    expect(isRun).toBe(false);
    await expect(open(join(folder.path, "none"), { readOnly: true })).rejects.toThrow("There is no database");
  } finally {
    await folder.remove();
  }
});
