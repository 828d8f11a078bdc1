import fs from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Environment, systemEnvironment } from "../../../environment/index.js";
import { acquireFolder, releaseFolder } from "./open-folders.js";

let looks = 0;

const options = { readOnly: false, create: true, noReadAhead: false, mapSize: 2 ** 24, maxReaders: 16 };
let path: string;

beforeEach(async () => {
  // Each look at the lock file begins with what this process maps.
  const { readFileSync } = fs;
  vi.spyOn(fs, "readFileSync").mockImplementation(((...read: Parameters<typeof readFileSync>) => {
    if (read[0] === "/proc/self/maps") looks++;
    return readFileSync(...read);
  }) as typeof readFileSync);
  syncBuiltinESMExports();
  path = await mkdtemp(join(tmpdir(), "percolatordb-folders-"));
});

afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await rm(path, { recursive: true });
});

it("the lock file is not looked at while another thread of the process opens the folder", async () => {
  await releaseFolder(await acquireFolder(path, options, systemEnvironment));
  const announcement = join(path, "lock.mdb.opening");
  await writeFile(announcement, `${process.pid}.another`);
  looks = 0;
  let waits = 0;
  let looksMeanwhile: number | undefined;
  const environment: Environment = {
    ...systemEnvironment,
    setTimer(action, _delayMs, { background } = {}) {
      if (background) return { cancel: () => undefined };
      if (++waits === 20) {
        looksMeanwhile = looks;
        void rm(announcement).then(action);
      } else {
        systemEnvironment.defer(action);
      }
      return { cancel: () => undefined };
    },
  };
  await releaseFolder(await acquireFolder(path, options, environment));
  expect(looksMeanwhile).toBe(0);
  expect(looks).toBeGreaterThan(0);
});
