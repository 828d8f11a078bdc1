import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type CommandLine, eventually, type Printed } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const set = (size: number) =>
  withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.size, "a", size)).then(() => undefined));

const sizeIn = async (location: string) => (await cli.run(["get", location, "documents.size", "a"])).stdout;

describe("backup", () => {
  it("makes a backup, and says what it copied", async () => {
    const { code, lines } = await cli.run(["backup", "data", "copies"]);
    expect(code).toBe(0);
    expect(lines).toEqual([expect.stringMatching(/^backup of \d{4}-.*Z: all pages, [\d.]+ KiB, \d+m?s$/)]);
    expect((await cli.run(["backup", "data", "copies"])).lines).toEqual([
      expect.stringMatching(/^unchanged since the backup of \d{4}-.*Z$/),
    ]);
    await set(7);
    const { documents: printed } = await cli.run(["backup", "data", "copies", "--json", "--keep", "1"]);
    expect(printed).toEqual([
      expect.objectContaining({ kind: "changes", deleted: 1, takenAt: expect.stringMatching(/Z$/) }),
    ]);
  });

  it("follows the database until a signal", async () => {
    const running = cli.start(["backup", "data", "copies", "--follow", "--every", "100ms"]);
    const printed = running.stdout as Printed;
    await eventually(() => expect(printed.text).toContain("all pages"));
    await set(7);
    await eventually(() => expect(printed.text).toMatch(/changed pages?,/));
    running.signal("SIGTERM");
    const { code, stderr } = await running.outcome;
    expect({ code, stderr }).toEqual({
      code: 143,
      stderr: expect.stringContaining("interrupted by SIGTERM"),
    });
    // The lock is free again.
    expect(await cli.run(["backup", "data", "copies"])).toMatchObject({ code: 0 });
  });

  it.each([
    [["backup", "data", "copies", "--every", "1s"], 2, "--every is for --follow"],
    [["backup", "data", "copies", "--follow", "--every", "10"], 2, "at least 100ms"],
    [["backup", "data", "copies", "--keep", "0"], 2, "--keep"],
    [["backup", "none", "copies"], 1, "There is no database"],
    [["backup", "postgres://localhost/shop", "copies"], 1, "pg_dump"],
    [["backup", "data", "data/copies"], 1, "inside the other"],
    [["backup", "data", "s3://bucket/shop"], 1, "AWS_ACCESS_KEY_ID"],
  ])("refuses %j", async (args, expected, message) => {
    const { code, stderr } = await cli.run(args);
    expect(stderr).toContain(message);
    expect(code).toBe(expected);
  });
});

describe("backups", () => {
  it("lists the backups, the newest first", async () => {
    await cli.run(["backup", "data", "copies"]);
    await set(7);
    await cli.run(["backup", "data", "copies"]);
    const { documents: printed } = await cli.run(["backups", "copies", "--json"]);
    expect(printed).toHaveLength(2);
    expect(Number(printed[0]!.timestamp)).toBeGreaterThan(Number(printed[1]!.timestamp));
    const { lines } = await cli.run(["backups", "copies"]);
    expect(lines[0]).toMatch(/^TAKEN AT +TIMESTAMP +SIZE$/);
    expect(lines[1]).toContain(String(printed[0]!.takenAt));
    expect(await cli.run(["backups", "nowhere"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There are no backups"),
    });
  });

  it("verifies them", async () => {
    await cli.run(["backup", "data", "copies"]);
    expect(await cli.run(["backups", "copies", "--verify"])).toMatchObject({
      code: 0,
      stdout: "1 backup, no problems\n",
    });
    await rm(join(cli.folder, "copies", "pages"), { recursive: true });
    const { code, documents: printed } = await cli.run(["backups", "copies", "--verify", "--json"]);
    expect(code).toBe(1);
    expect(printed).toEqual([
      {
        sound: false,
        backups: 1,
        problems: [{ backups: [expect.any(String)], message: expect.stringContaining("is missing") }],
      },
    ]);
  });
});

describe("restore", () => {
  it("restores the newest backup, or an earlier one, and says which", async () => {
    await set(1);
    const first = (await cli.run(["backup", "data", "copies", "--json"])).documents[0]!;
    await set(2);
    const second = (await cli.run(["backup", "data", "copies", "--json"])).documents[0]!;
    const newest = await cli.run(["restore", "copies", "newest"]);
    expect(newest).toMatchObject({ code: 0, stderr: "" });
    expect(newest.lines[0]).toBe(
      `newest is as it was at ${second.takenAt}: commits up to ${second.timestamp} (${second.time})`,
    );
    expect(newest.lines[1]).toBe("the newest backup");
    expect(await sizeIn("newest")).toBe("2\n");
    const at = new Date(Date.parse(String(second.takenAt)) - 1).toISOString();
    const earlier = await cli.run(["restore", "copies", "earlier", "--at", at]);
    expect(earlier.lines[0]).toContain(`as it was at ${first.takenAt}`);
    expect(earlier.lines[1]).toBe(`the next backup was taken at ${second.takenAt}`);
    expect(await sizeIn("earlier")).toBe("1\n");
    expect(await cli.run(["check", "earlier"])).toMatchObject({ code: 0 });
  });

  it.each([
    [["restore", "copies", "data"], "holds a database already"],
    [["restore", "copies", "full"], "holds notes.txt"],
    [["restore", "nowhere", "new"], "There are no backups"],
    [["restore", "copies", "new", "--at", "2020-01-01"], "No backup in"],
    [["restore", "copies", "bigtable://project/instance"], "Bigtable"],
  ])("refuses %j, and changes nothing", async (args, message) => {
    await cli.run(["backup", "data", "copies"]);
    await set(9);
    await mkdir(join(cli.folder, "full"));
    await cli.write("full/notes.txt", "mine");
    const { code, stderr } = await cli.run(args);
    expect(stderr).toContain(message);
    expect(code).toBe(1);
    expect(await sizeIn("data")).toBe("9\n");
    expect((await readdir(cli.folder)).sort()).toEqual(["copies", "data", "full"]);
    expect(await readdir(join(cli.folder, "full"))).toEqual(["notes.txt"]);
  });
});
