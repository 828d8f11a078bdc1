import { open } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CommandLine } from "../support/command-line.js";
import { type Emulator, startEmulator } from "../support/emulator/index.js";

/** A database that a newer version of the package has written is refused, and nothing in it is changed. */

const location = "bigtable://project/instance";
const lease = { table: "~oracle", row: Buffer.from("leader"), column: Buffer.from("lease") };
const newer = { format: 2, epoch: 3, leader: "10.0.0.1:7000" };
let emulator: Emulator;
const before = process.env.BIGTABLE_EMULATOR_HOST;

beforeEach(async () => {
  emulator = await startEmulator();
  process.env.BIGTABLE_EMULATOR_HOST = emulator.host;
});

afterEach(async () => {
  if (before === undefined) delete process.env.BIGTABLE_EMULATOR_HOST;
  else process.env.BIGTABLE_EMULATOR_HOST = before;
  await emulator.stop();
});

async function recordNewer(): Promise<void> {
  const store = await openBigtableStore(location);
  const value = Buffer.from(JSON.stringify(newer));
  const { table, row, column } = lease;
  const put = { type: "put", column, part: "write", timestamp: 1, value } as const;
  await store.mutate({ table, row, guards: [], mutations: [put] });
  await store.close();
}

async function recorded(): Promise<unknown> {
  const store = await openBigtableStore(location);
  const { table, row, column } = lease;
  const page = await store.readRow({
    table,
    row,
    columns: [{ exact: column }],
    at: Number.POSITIVE_INFINITY,
  });
  await store.close();
  return JSON.parse(Buffer.from(page.cells[0]!.write!.value).toString());
}

test("a lease of a newer format is refused by programs and commands, and stays as it is", async () => {
  await (await open(location, { coordinator: "auto" })).close();
  await recordNewer();
  for (const coordinator of [undefined, "auto"]) {
    await expect(open(location, { coordinator })).rejects.toMatchObject({
      code: "STORE_VERSION",
      message: expect.stringContaining("format 2"),
    });
  }
  const cli = await CommandLine.create();
  expect(await cli.run(["status", location])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("newer version of the package"),
  });
  expect(await recorded()).toEqual(newer);
});
