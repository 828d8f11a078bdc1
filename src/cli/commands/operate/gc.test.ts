import { table, text } from "percolatordb";
import { beforeEach, describe, expect, it } from "vitest";
import { type CommandLine, eventually, Printed } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
  await withLibrary(cli, async (db) => {
    for (let size = 0; size < 3; size++) await db.transact((tx) => tx.set(documents.size, "a", size));
  });
});

const versions = async () =>
  (await cli.run(["history", "data", "documents.size", "a", "--json"])).documents.length;

describe("gc", () => {
  it("keeps versions within the retention, which is an hour by default", async () => {
    expect(await versions()).toBe(4);
    expect(await cli.run(["gc", "data"])).toMatchObject({ code: 0 });
    expect(await cli.run(["gc", "data", "--retention", "5m"])).toMatchObject({ code: 0 });
    expect(await versions()).toBe(4);
  });

  it("removes older versions, and reports how many", async () => {
    const { code, documents: printed } = await cli.run(["gc", "data", "--retention", "0", "--json"]);
    expect(code).toBe(0);
    expect(printed).toHaveLength(1);
    expect(printed[0]).toMatchObject({ versionsDropped: 3, locksResolved: 0 });
    expect(printed[0]?.cellsSeen).toBeGreaterThan(0);
    expect(await versions()).toBe(1);
    const { lines } = await cli.run(["gc", "data", "--retention", "0"]);
    expect(lines[0]).toMatch(/^\d+ versions? dropped, \d+ cells? seen, 0 locks resolved in \d+ ms$/);
    expect(lines[1]).toMatch(/^safepoint: \d+ \(.*Z\)$/);
  });

  it("deletes expired cells without the module, and status and schema show the time", async () => {
    const short = table("short", { token: text() }, { ttlMs: 1 });
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(short.token, "a", "x")));
    expect((await cli.run(["schema", "data"])).stdout).toContain("  token: text, expires after 1ms\n");
    expect((await cli.run(["status", "data"])).stdout).toMatch(/^short +1ms +never/m);
    await eventually(async () => {
      const { documents: printed } = await cli.run(["gc", "data", "--json"]);
      expect(printed[0]).toMatchObject({ cellsExpired: 1 });
    });
    expect(await cli.run(["get", "data", "short.token", "a"])).toMatchObject({ code: 1 });
    expect((await cli.run(["status", "data"])).stdout).toMatch(/^short +1ms +.* ago +1$/m);
    expect((await cli.run(["status", "data", "--json"])).documents[0]).toMatchObject({
      expiries: [{ table: "short", ttlMs: { token: 1 }, swept: expect.any(String), expired: 1 }],
    });
  });

  it("shows progress only on a terminal", async () => {
    const stderr = new Printed(80);
    await cli.run(["gc", "data"], { stderr });
    expect(stderr.text).toContain("seen");
    expect(stderr.text.endsWith("\r\u001b[K")).toBe(true);
    expect(await cli.run(["gc", "data"])).toMatchObject({ stderr: "" });
  });

  it.each(["soon", "-5", "1y", ""])("refuses the retention %j", async (retention) => {
    const { code, stderr } = await cli.run(["gc", "data", `--retention=${retention}`]);
    expect(code).toBe(2);
    expect(stderr).toContain("--retention");
  });
});
