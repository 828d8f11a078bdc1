import { open } from "percolatordb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CommandLine } from "../support/command-line.js";
import { type Emulator, startEmulator } from "../support/emulator/index.js";

/** `status` and `doctor` report which parts are unavailable, and do not wait for them. */

const location = "bigtable://project/instance";
let emulator: Emulator;
let cli: CommandLine;
const before = process.env.BIGTABLE_EMULATOR_HOST;

beforeEach(async () => {
  emulator = await startEmulator();
  process.env.BIGTABLE_EMULATOR_HOST = emulator.host;
  cli = await CommandLine.create();
});

afterEach(async () => {
  if (before === undefined) delete process.env.BIGTABLE_EMULATOR_HOST;
  else process.env.BIGTABLE_EMULATOR_HOST = before;
  emulator.signal("SIGCONT");
  await emulator.stop();
});

/** The problems that `doctor` finds. */
async function diagnosed(...args: string[]) {
  const { documents, code } = await cli.run(["doctor", location, "--json", ...args]);
  const { findings } = documents[0] as { findings: { check: string; state: string; what: string }[] };
  const [problem] = findings.filter(({ state }) => state === "problem");
  return { code, ...problem };
}

describe("a cluster with an unavailable part", () => {
  test("the coordinator: paused, and refusing the token", async () => {
    const token = "the-right-token";
    const db = await open(location, { coordinator: { start: true, token } });
    await cli.write("right", `${token}\n`);
    await cli.write("wrong", "another-token\n");
    expect(await cli.run(["status", location, "--token-file", "right"])).toMatchObject({ code: 0 });
    const refused = await cli.run(["status", location, "--token-file", "wrong"]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("same token") });
    expect(refused.stdout).toMatch(/^coordinator .* does not answer$/m);
    const found = await diagnosed("--token-file", "wrong");
    expect(found).toMatchObject({
      code: 1,
      check: "coordinator",
      what: expect.stringContaining("same token"),
    });
    await db.close();
    const { code, stderr } = await cli.run(["status", location]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("no coordinator leads") });
    expect(await diagnosed()).toMatchObject({
      code: 1,
      check: "coordinator",
      what: expect.stringContaining("The store bigtable://project/instance answers"),
    });
  });

  test("the store: paused", async () => {
    await (await open(location, { coordinator: { start: true } })).close();
    emulator.signal("SIGSTOP");
    const { code, stderr } = await cli.run(["status", location]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`${location} did not answer within`),
    });
    expect(await diagnosed()).toMatchObject({
      code: 1,
      check: "store",
      what: expect.stringContaining("did not answer within"),
    });
  });
});
