import { fileURLToPath } from "node:url";
import { open } from "percolatordb";
import { afterEach, expect, test, vi } from "vitest";
import type { HeatMap, Overview, TransactionShown, Workers } from "../../src/dashboard/api/index.js";
import { temporaryFolder } from "../support/databases.js";
import { documents } from "../workers/app.js";
import { Command } from "../workers/command.js";

const app = fileURLToPath(new URL("../workers/app.ts", import.meta.url));
let command: Command | undefined;
let remove: (() => Promise<void>) | undefined;

afterEach(async () => {
  command?.signal("SIGKILL");
  await command?.ended;
  await remove?.();
});

test("one dashboard shows all processes of a worker, even after one of them was replaced", async () => {
  const folder = await temporaryFolder();
  remove = folder.remove;
  const args = [
    "worker",
    folder.path,
    app,
    "--json",
    "--processes",
    "2",
    "--concurrency",
    "4",
    "--dashboard",
    "0",
  ];
  command = new Command(args);
  await command.until((told) => told.events("started").length >= 2);
  expect(command.events("supervising")[0]).toMatchObject({ created: folder.path });
  const url = command.events("supervising")[0]!.dashboard as string;
  const get = async <T>(path: string) => (await (await fetch(new URL(`api/${path}`, url))).json()) as T;
  await using db = await open(folder.path);
  let rows = 0;
  const load = async () => {
    await db.transact((tx) => {
      for (let row = 0; row < 50; row++) tx.set(documents.contents, `row${rows++}`, "x".repeat(row + rows));
    });
    await db.idle();
  };
  /** Loads until this many processes have reported runs. */
  const seenOf = async (count: number) => {
    const seen = new Set<string>();
    for (let tries = 0; seen.size < count && tries < 60; tries++) {
      await load();
      for (const { process, observer } of await get<TransactionShown[]>("transactions?limit=500")) {
        if (observer !== undefined) seen.add(process);
      }
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    return seen;
  };
  const seen = await seenOf(2);
  expect(seen.size).toBe(2);
  // If a process answers late, the server builds a result without it, and may return that result
  // for a while.
  const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 100 });
  await eventually(async () => {
    const overview = await get<Overview>("overview");
    expect(overview).toMatchObject({ reach: "here", workers: 2 });
    expect(overview.observers[0]!.delay.count).toBeGreaterThanOrEqual(50);
    const { sessions } = await get<Workers>("workers");
    expect(sessions.map(({ process, isHere }) => [seen.has(process), isHere])).toEqual([
      [true, true],
      [true, true],
    ]);
  });
  await eventually(async () => {
    const heat = await get<HeatMap>("heat?table=documents&metric=writes");
    expect(heat.ranges.length).toBeGreaterThan(5);
  });
  process.kill(Number([...seen][0]!.split("/").at(-1)), "SIGKILL");
  await command.until((told) => told.events("started").length >= 3);
  expect((await seenOf(3)).size).toBe(3);
  command.signal("SIGINT");
  expect(await command.ended).toBe(0);
});
