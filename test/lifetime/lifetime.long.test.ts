import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { type Emulator, startEmulator } from "../support/emulator/index.js";
import { newPlace, type PostgresPlace, removePlace } from "../support/postgres/index.js";
import { ProgramProcess } from "../support/program-process.js";

const script = "test/lifetime/child.ts";
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let emulator: Emulator;
const schemas: PostgresPlace[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  emulator = await startEmulator();
});

afterAll(async () => {
  await emulator.stop();
  for (const place of schemas) await removePlace(place);
  await folder.remove();
});

async function placeOf(kind: string): Promise<string> {
  if (kind === "bigtable") return "bigtable://local/local";
  if (!kind.startsWith("postgres")) return join(folder.path, kind);
  const place = await newPlace();
  schemas.push(place);
  return place.location;
}

test("a process ends by itself once its databases are closed, whatever their kind", async () => {
  const asked = new ProgramProcess(script);
  await asked.ended();
  const kinds = JSON.parse(asked.lines[0]!) as string[];
  expect(kinds.length).toBeGreaterThan(10);
  const kept: Record<string, unknown> = {};
  for (const kind of kinds) {
    const place = await placeOf(kind);
    const child = new ProgramProcess(script, [kind, place], {
      env: { BIGTABLE_EMULATOR_HOST: emulator.host },
    });
    await child.ended();
    kept[kind] = child.end === "0" ? JSON.parse(child.lines.at(-1) ?? "null") : child.errors;
  }
  expect(kept).toEqual(Object.fromEntries(kinds.map((kind) => [kind, []])));
}, 600_000);
