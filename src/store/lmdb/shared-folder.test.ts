import { readdirSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import { acquireFolder, releaseFolder } from "./environment.js";
import { Request } from "./request.js";
import type { SharedFolder } from "./shared-folder.js";

const options = { readOnly: false, create: true, noReadAhead: false, mapSize: 2 ** 24, maxReaders: 16 };
let path: string;
let shared: SharedFolder;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "percolatordb-shared-"));
  shared = await acquireFolder(join(path, "data"), options, systemEnvironment);
});

afterEach(async () => {
  await releaseFolder(shared);
  await rm(path, { recursive: true });
});

const failure = (code: number) => Object.assign(new Error(`LMDB answered ${code}`), { code });

async function put(row: string): Promise<unknown> {
  const value = Buffer.from("x");
  const mutation = { type: "put", column: value, part: "write", timestamp: 1, value } as const;
  const request = new Request(
    { type: "mutate", mutation: { table: "t", row: Buffer.from(row), guards: [], mutations: [mutation] } },
    false,
    undefined,
  );
  shared.queue.push(request);
  return request.answered;
}

it.each([-30781, -30782, -30798])(
  "LMDB is opened anew where it has lost its free pages (%i)",
  async (code) => {
    expect(await put("a")).toBe("applied");
    expect(await shared.mend(failure(code))).toBe(true);
    expect(shared.mended).toBe(1);
    expect(await put("b")).toBe("applied");
  },
);

it("what could not be committed for lost free pages is done by the next group", async () => {
  expect(await put("a")).toBe("applied");
  const { root } = shared.databases;
  // LMDB's answer at a commit, of which nothing was done.
  let begun = 0;
  const failing = {
    ...root,
    thread: () => -1,
    async transaction(action: () => void) {
      begun++;
      root.transactionSync(() => {
        action();
        throw failure(-30781);
      });
    },
  };
  Object.assign(shared.databases, { root: failing });
  expect(await put("b")).toBe("applied");
  expect([begun, shared.mended]).toEqual([1, 1]);
});

/** Files of the folder that this process has open. */
function openFiles(): readonly string[] {
  const targets = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ""; // The one with which the list was read.
    }
  });
  return targets.filter((target) => target.startsWith(path));
}

it.runIf(process.platform === "linux")(
  "is closed once LMDB was opened again: nothing of it stays open",
  async () => {
    expect(openFiles()).not.toEqual([]);
    // LMDB is opened again when its flush has ended.
    shared.databases.root.env.sync(() => undefined);
    const mending = shared.mend(failure(-30781));
    await releaseFolder(shared);
    expect(await mending).toBe(true);
    expect(openFiles()).toEqual([]);
    shared = await acquireFolder(join(path, "data"), options, systemEnvironment);
  },
);

it("is left as it is where another reason is told", async () => {
  expect(await shared.mend(failure(28))).toBe(false);
  expect(shared.mended).toBe(0);
});
