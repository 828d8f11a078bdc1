import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/support/command-line.js";
import { type Emulator, startEmulator } from "../../../../test/support/emulator/index.js";
import { newPlace, removePlace } from "../../../../test/support/postgres/index.js";
import { startCoordinator } from "../../../coordinator/index.js";
import { open } from "../../../database/index.js";
import { systemEnvironment } from "../../../environment/index.js";
import { observer } from "../../../observer/index.js";
import { table, text } from "../../../schema/index.js";
import { openBigtableStore } from "../../../store/bigtable/index.js";

const documents = table("documents", { title: text() });
const titles = observer("titles", documents.title, () => undefined);
const location = "bigtable://local/away";

let emulator: Emulator;
let cli: CommandLine;
let host: string | undefined;

beforeAll(async () => {
  emulator = await startEmulator();
  host = process.env.BIGTABLE_EMULATOR_HOST;
  process.env.BIGTABLE_EMULATOR_HOST = emulator.host;
});

beforeEach(async () => {
  cli = await CommandLine.create();
});

afterAll(async () => {
  if (host === undefined) delete process.env.BIGTABLE_EMULATOR_HOST;
  else process.env.BIGTABLE_EMULATOR_HOST = host;
  await emulator.stop();
});

describe("status of a database whose coordinator is unavailable", () => {
  it("prints what the store knows, and names what is unavailable", async () => {
    const asked = { environment: systemEnvironment, store: await openBigtableStore(location) };
    const coordinator = await startCoordinator({ ...asked, token: "right" });
    await expect.poll(() => coordinator.holdsLease).toBe(true);
    const db = await open(location, { observers: [titles], coordinator: { token: "right" } });
    await db.transact((tx) => tx.set(documents.title, "a", "x"));
    await db.close();
    const known = {
      latestTimestamp: null,
      tables: [{ name: "documents" }],
      observers: [{ name: "titles", pending: { count: 1 } }],
      schedules: [],
    };
    await writeFile(join(cli.folder, "wrong"), "guess\n");
    const refused = await cli.run(["status", location, "--token-file", "wrong", "--json"]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("same token") });
    expect(refused.documents).toMatchObject([
      {
        ...known,
        away: expect.stringContaining("same token"),
        coordinator: { leader: coordinator.address, answers: false },
      },
    ]);
    await coordinator.stop();
    const gone = await cli.run(["status", location, "--json"]);
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining("ORACLE_UNAVAILABLE") });
    expect(gone.documents).toMatchObject([
      { ...known, away: expect.stringContaining("no coordinator leads") },
    ]);
    const people = await cli.run(["status", location, "--all"]);
    expect(people.stdout).toMatch(/latest timestamp +unknown/);
    expect(people.stdout).toContain("no leader; the last epoch was");
    expect(people.stdout).toMatch(/titles +documents\.title/);
    await asked.store.close();
  });
});

describe("a database on PostgreSQL whose coordinator is unavailable", () => {
  it("is shown by status and examined by doctor, since only Bigtable needs a coordinator", async () => {
    const place = await newPlace();
    try {
      const db = await open(place.location);
      await db.transact((tx) => tx.set(documents.title, "a", "x"));
      await db.close();
      const env = { PERCOLATOR_COORDINATOR: "127.0.0.1:1" };
      const status = await cli.run(["status", place.location, "--json"], { env });
      expect(status).toMatchObject({ code: 1, stderr: expect.stringContaining("ORACLE_UNAVAILABLE") });
      expect(status.documents).toMatchObject([
        { tables: [{ name: "documents" }], away: expect.stringContaining("No coordinator leads") },
      ]);
      const doctor = await cli.run(["doctor", place.location, "--json"], { env });
      const { findings } = doctor.documents[0] as { findings: { check: string; state: string }[] };
      expect(findings.filter(({ check }) => check === "coordinator")).toMatchObject([{ state: "warning" }]);
      expect(findings.map(({ check }) => check)).toContain("safepoint");
    } finally {
      await removePlace(place);
    }
  });
});
