import { existsSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { builtLibrary } from "../../../../test/support/built/library.js";
import { CommandLine } from "../../../../test/support/command-line.js";
import {
  documents,
  ledgerModule,
  libraryCommandLine,
  withLibrary,
} from "../../../../test/support/library.js";

const { index: library } = builtLibrary();
let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const get = async (target: string, row: string) => (await cli.run(["get", "data", target, row])).stdout;

describe("set", () => {
  it.each([
    ["documents.title", "new", "Title"],
    ["documents.title", "new", ""],
    ["documents.size", "new", "12"],
    ["documents.links", "new", '["x"]'],
    ["documents.thumbnail", "new", "AQI="],
    ["documents.anchors:q:r.s", "new", "quoted"],
    ["visits.seconds", '["new",-3]', "NaN"],
  ])("sets %s of %s to %s", async (target, row, value) => {
    const { code, stdout } = await cli.run(["set", "data", target, row, value]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^committed at \d+ \(.*Z\)\n$/);
    expect(await get(target, row)).toBe(`${value}\n`);
  });

  it("takes negative numbers, and after -- any value that begins with a hyphen", async () => {
    expect(await cli.run(["set", "data", "documents.size", "a", "-5"])).toMatchObject({ code: 0 });
    expect(await get("documents.size", "a")).toBe("-5\n");
    expect(await cli.run(["set", "data", "documents.title", "a", "-x"])).toMatchObject({ code: 2 });
    expect(await cli.run(["set", "data", "documents.title", "a", "--", "-x"])).toMatchObject({ code: 0 });
    expect(await get("documents.title", "a")).toBe("-x\n");
  });

  it("prints the commit timestamp as JSON", async () => {
    const { documents: printed } = await cli.run(["set", "data", "documents.size", "a", "6", "--json"]);
    const { commitTimestamp, time } = printed[0] as { commitTimestamp: number; time: string };
    expect(Math.floor(commitTimestamp / 1_000)).toBe(new Date(time).getTime());
    const at = (timestamp: number) =>
      cli.run(["get", "data", "documents.size", "a", "--at", String(timestamp)]);
    expect((await at(commitTimestamp)).stdout).toBe("6\n");
    expect((await at(commitTimestamp - 1)).stdout).toBe("5\n");
  });

  it("reads the standard input: text and bytes unchanged, other values trimmed", async () => {
    const set = (target: string, stdin: string | Uint8Array) =>
      cli.run(["set", "data", target, "in", "-"], { stdin });
    expect(await set("documents.title", "a\nb\n")).toMatchObject({ code: 0 });
    expect(await set("documents.thumbnail", Uint8Array.of(255, 10))).toMatchObject({ code: 0 });
    expect(await set("documents.size", "7\n")).toMatchObject({ code: 0 });
    await withLibrary(cli, async (db) => {
      await using snapshot = await db.snapshot();
      expect(await snapshot.row(documents, "in")).toMatchObject({
        title: "a\nb\n",
        thumbnail: Uint8Array.of(255, 10),
        size: 7,
      });
    });
  });

  it.each([
    ["documents.size", "a", "1.5", "INVALID_VALUE", "not an integer"],
    ["documents.links", "a", "{", "INVALID_VALUE", "not JSON"],
    ["documents.thumbnail", "a", "%", "INVALID_VALUE", "base64"],
    ["documents.title", "x".repeat(1_501), "v", "INVALID_KEY", "1500"],
    ["documents.anchors", "a", "v", "SCHEMA", "documents.anchors:QUALIFIER"],
    ["documents.rescore", "a", "v", "SCHEMA", "signal"],
    ["documents", "a", "v", "SCHEMA", "documents.COLUMN"],
    ["ledger.total", "all", "5", "SCHEMA", "have a custom codec"],
  ])("refuses %s of %s = %s, and changes nothing", async (target, row, value, errorCode, message) => {
    const { code, stdout, stderr } = await cli.run(["set", "data", target, row, value, "--json"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
    expect(error.code).toBe(errorCode);
    expect(error.message).toContain(message);
    expect(await get("documents.size", "a")).toBe("5\n");
  });

  it("refuses input that is not UTF-8, or too long", async () => {
    const set = (stdin: Uint8Array) => cli.run(["set", "data", "documents.title", "a", "-"], { stdin });
    expect((await set(Uint8Array.of(0xff))).stderr).toContain("not UTF-8");
    const long = await set(Buffer.alloc(10_000_001, "x"));
    expect(long).toMatchObject({ code: 2, stdout: "" });
    expect(long.stderr).toContain("10000000 bytes");
    expect(await get("documents.title", "a")).toBe("Alpha\n");
  });

  it("reads no input if a signal came while the database was opened", async () => {
    const command = cli.start(["set", "data", "documents.title", "a", "-"], { stdin: new PassThrough() });
    command.signal("SIGINT");
    expect(await command.outcome).toMatchObject({ code: 130, stdout: "" });
    expect(await get("documents.title", "a")).toBe("Alpha\n");
  });

  it("creates a database only if a module declares the tables", async () => {
    const fresh = await CommandLine.create();
    const refused = await fresh.run(["set", "data", "ledger.total", "all", "5"]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("no database");
    expect(existsSync(join(fresh.folder, "data"))).toBe(false);
    await fresh.write(
      "app.ts",
      ledgerModule(library)
        .replace("total: bigints", "total: bigints, note: text()")
        .replace("codec,", "codec, text,"),
    );
    for (const [target, ...rest] of [
      ["ledger.nota", "all", "hello"],
      ["ledger.note", "x".repeat(1_501), "hello"],
    ]) {
      expect((await fresh.run(["set", "data", target!, ...rest, "--app", "app.ts"])).code).toBe(2);
      expect(existsSync(join(fresh.folder, "data"))).toBe(false);
    }
    const set = await fresh.run(["set", "data", "ledger.note", "all", "hello", "--app", "app.ts"]);
    expect(set).toMatchObject({ code: 0, stderr: "" });
    expect((await fresh.run(["get", "data", "ledger.note", "all"])).stdout).toBe("hello\n");
  });
});
