import { readdir } from "node:fs/promises";
import { beforeEach, describe, expect, it } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
  await withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.size, "a", 7)).then(() => undefined));
});

describe("compact", () => {
  it("copies a folder, and says what the copy is", async () => {
    const { code, lines } = await cli.run(["compact", "data", "small"]);
    expect({ code, lines }).toEqual({
      code: 0,
      lines: [
        expect.stringMatching(/^small has the database of data with all commits up to \d+ \(.*\)$/),
        expect.stringMatching(/^[\d.]+ KiB instead of [\d.]+ KiB, \d+ records, \d+ms$/),
      ],
    });
    expect((await cli.run(["get", "small", "documents.size", "a"])).stdout).toBe("7\n");
    expect((await cli.run(["check", "small"])).code).toBe(0);
    expect((await cli.run(["status", "small"])).code).toBe(0);
    const { documents: printed } = await cli.run(["compact", "small", "again", "--json"]);
    expect(printed).toEqual([
      {
        timestamp: expect.any(Number),
        time: expect.any(String),
        records: expect.any(Number),
        bytesBefore: expect.any(Number),
        bytes: expect.any(Number),
        endedSessions: 0,
        durationMs: expect.any(Number),
      },
    ]);
  });

  it.each([
    [["compact", "data"], 2, "destination"],
    [["compact", "none", "small"], 1, "There is no database"],
    [["compact", "data", "data"], 1, "inside the other"],
    [["compact", "postgres://localhost/shop", "small"], 1, "only folders"],
    [["compact", "data", "s3://bucket/shop"], 2, "There is no store for location"],
  ])("refuses %j", async (args, expected, message) => {
    const { code, stderr } = await cli.run(args);
    expect(stderr).toContain(message);
    expect(code).toBe(expected);
    expect(await readdir(cli.folder)).not.toContain("small");
  });
});
