import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { libraryCommandLine } from "../../../../test/support/library.js";
import { openLmdbStore } from "../../../store/lmdb/index.js";
import { encodeWrite } from "../../../transaction/index.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

/** Writes a write record that no transaction would write. */
async function damage(): Promise<void> {
  const store = await openLmdbStore(join(cli.folder, "data"));
  const value = encodeWrite({ start: 9, kind: "put", onePhase: false, value: undefined });
  await store.mutate({
    table: "documents",
    row: Buffer.from("bad"),
    guards: [],
    mutations: [{ type: "put", column: Buffer.from("title"), part: "write", timestamp: 5, value }],
  });
  await store.close();
}

describe("check", () => {
  it("finds nothing in a sound database", async () => {
    expect(await cli.run(["check", "data"])).toMatchObject({ code: 0, stdout: "no problems\n", stderr: "" });
    const { documents: printed } = await cli.run(["check", "data", "--json"]);
    expect(printed).toEqual([{ sound: true, problems: [] }]);
  });

  it("exits with 1 and lists the problems of a damaged database", async () => {
    await damage();
    const { code, lines } = await cli.run(["check", "data"]);
    expect(code).toBe(1);
    expect(lines).toEqual([
      "start-before-commit: documents/bad/title: a transaction that started at 9 committed at 5",
      "data-exists: documents/bad/title: the write at 5 names a value written at 9 that is missing",
      "2 problems",
    ]);
    const { code: jsonCode, documents: printed } = await cli.run(["check", "data", "--json"]);
    expect(jsonCode).toBe(1);
    expect(printed[0]).toMatchObject({ sound: false, problems: [{ invariant: "start-before-commit" }, {}] });
  });
});
