import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Database, open } from "percolatordb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../test/support/databases.js";
import { ProgramProcess } from "../../test/support/program-process.js";
import { until } from "../../test/support/waiting.js";
import { rendering } from "./observers.js";
import { type Rendering, render } from "./render.js";
import { documents, tables } from "./tables.js";
import { type Fault, faulty } from "./testing/faulty.js";
import { ThreadPool, transferable } from "./thread-pool.js";

const never = new AbortController().signal;
const rendered = (text: string) => Buffer.from(render({ markdown: Buffer.from(text) })).toString();

/** What the pool's threads reported without a task. */
const reported: Error[] = [];
let pool: ThreadPool<Rendering, Uint8Array>;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

function poolOf(module: string, threads = 2): ThreadPool<Rendering, Uint8Array> {
  return new ThreadPool(new URL(module, import.meta.url), {
    threads,
    resourceLimits: { maxOldGenerationSizeMb: 64 },
    onError: (error) => reported.push(error),
  });
}

beforeAll(async () => {
  folder = await temporaryFolder();
  pool = poolOf("./testing/faulty.ts");
});

afterAll(async () => {
  await pool.close();
  await folder.remove();
  expect(reported).toEqual([]);
});

const fileOf = (name: string) => join(folder.path, name);
const computations = async (name: string) =>
  (await readFile(fileOf(name), "utf8")).trimEnd().split("\n").length;

describe("an observer on threads", () => {
  let db: Database;

  const openWith = (threads: ThreadPool<Rendering, Uint8Array>) => {
    const observers = [rendering(threads, { attempts: 3, backoff: { initialMs: 1, maximumMs: 1 } })];
    return open("memory:", { tables, observers });
  };

  beforeEach(async () => {
    db = await openWith(pool);
  });

  afterEach(() => db.close());

  const put = (pages: Readonly<Record<string, string | Uint8Array>>) =>
    db.transact((tx) => {
      for (const [path, text] of Object.entries(pages)) tx.set(documents.markdown, path, Buffer.from(text));
    });

  async function html(path: string): Promise<string | undefined> {
    await using view = await db.snapshot();
    const value = await view.get(documents.html, path);
    return value === undefined ? undefined : Buffer.from(value).toString();
  }

  test("writes what a thread computed, and deletes it with the document", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `${index}`);
    await put(Object.fromEntries(names.map((name) => [name, `# Title ${name}\n\n*text*`])));
    await db.drain();
    for (const name of names) expect(await html(name)).toBe(rendered(`# Title ${name}\n\n*text*`));
    await db.transact((tx) => tx.delete(documents.markdown, "7"));
    await db.drain();
    expect(await html("7")).toBeUndefined();
  });

  test.each(["throw", "exit", "memory", "uncopiable"] as const)(
    "fails one run and tries it again when its thread ends: %s",
    async (fault) => {
      const document = faulty({ fault, times: 2, file: fileOf(fault) });
      await put({ before: "one", document, later: "two" });
      await db.drain();
      expect(await html("document")).toBe(rendered(Buffer.from(document).toString()));
      expect(await html("before")).toBe(rendered("one"));
      expect(await html("later")).toBe(rendered("two"));
      expect(await computations(fault)).toBe(3);
      expect(db.metrics.observers.render?.runs).toMatchObject({ committed: 3, failed: 2, parked: 0 });
    },
  );

  test("parks a document that ends every thread, and renders the others", async () => {
    const others = Array.from({ length: 20 }, (_, index) => `other ${index}`);
    const document = faulty({ fault: "exit", times: 100, file: fileOf("parked") });
    await put({ document, ...Object.fromEntries(others.map((name) => [name, name])) });
    await db.drain();
    for (const name of others) expect(await html(name)).toBe(rendered(name));
    const parked: string[] = [];
    for await (const { row, error } of db.parked()) parked.push(`${row}: ${error.message}`);
    expect(parked).toEqual(["document: worker exited with code: 3"]);
    expect(await computations("parked")).toBe(3);
  });

  test("gives the threads only a few documents at a time, and leaves the others in the database", async () => {
    const names = Array.from({ length: 100 }, (_, index) => `many ${index}`);
    await put(Object.fromEntries(names.map((name) => [name, name])));
    let running = 0;
    let most = 0;
    const run = vi.spyOn(pool, "run").mockImplementation(async (...task) => {
      most = Math.max(most, ++running);
      try {
        return await ThreadPool.prototype.run.apply(pool, task);
      } finally {
        running--;
      }
    });
    try {
      await db.drain();
    } finally {
      run.mockRestore();
    }
    // Two threads, and four tasks that run or wait for each.
    expect(most).toBe(8);
    for (const name of names) expect(await html(name)).toBe(rendered(name));
  });

  test("ends a computation when its run is given up, and computes again", async () => {
    await using one = poolOf("./testing/faulty.ts", 1);
    await db.close();
    db = await openWith(one);
    const document = faulty({ fault: "endless", times: 1, file: fileOf("endless") });
    await put({ document });
    const worker = db.work();
    expect(await until(() => existsSync(fileOf("endless")))).toBe(true);
    await worker.stop({ timeoutMs: 0 });
    expect(await html("document")).toBeUndefined();
    await db.drain();
    expect(await html("document")).toBe(rendered(Buffer.from(document).toString()));
    expect(await computations("endless")).toBe(2);
  });
});

describe("a pool", () => {
  const endless = (name: string): Fault => ({ fault: "endless", times: 1, file: fileOf(name) });

  test("moves the bytes of a task instead of copying them", async () => {
    const markdown = transferable(Buffer.from("*text*"));
    const html = await pool.run({ markdown }, { signal: never, transfer: [markdown.buffer] });
    expect(Buffer.from(html).toString()).toBe(rendered("*text*"));
    expect(markdown.length).toBe(0);
  });

  test("takes bytes as they are only if they share their memory with nothing", () => {
    const alone = new Uint8Array([1, 2, 3]);
    expect(transferable(alone)).toBe(alone);
    const part = alone.subarray(1);
    expect(transferable(part)).toEqual(part);
    expect(transferable(part).buffer).not.toBe(alone.buffer);
    const shared = new Uint8Array(new SharedArrayBuffer(3));
    expect(transferable(shared)).toEqual(shared);
    expect(transferable(shared).buffer).toBeInstanceOf(ArrayBuffer);
  });

  test("cancels tasks that run or wait with the reason of their signal, and no others", async () => {
    await using one = poolOf("./testing/faulty.ts", 1);
    const cancelled = new AbortController();
    const { signal } = cancelled;
    const running = one.run({ markdown: faulty(endless("running")) }, { signal });
    expect(await until(() => existsSync(fileOf("running")))).toBe(true);
    const waiting = one.run({ markdown: faulty(endless("waiting")) }, { signal });
    const other = one.run({ markdown: Buffer.from("other") }, { signal: never });
    const ends = Promise.allSettled([running, waiting]);
    const reason = new Error("no longer needed");
    cancelled.abort(reason);
    expect(await ends).toEqual([
      { status: "rejected", reason },
      { status: "rejected", reason },
    ]);
    expect(Buffer.from(await other).toString()).toBe(rendered("other"));
    expect(existsSync(fileOf("waiting"))).toBe(false);
    await expect(one.run({ markdown: Buffer.from("late") }, { signal })).rejects.toBe(reason);
  });

  test("fails every task if the module cannot be loaded, also those that wait", async () => {
    await using broken = poolOf("./testing/missing.ts", 1);
    const tasks = Array.from({ length: 4 }, () =>
      broken.run({ markdown: Buffer.from("text") }, { signal: never }),
    );
    for (const end of await Promise.allSettled(tasks)) {
      expect(end).toMatchObject({ status: "rejected", reason: { message: /missing\.ts/ } });
    }
    expect(reported.splice(0)).not.toEqual([]);
  });

  test("fails what still runs when it is closed", async () => {
    const closing = poolOf("./testing/faulty.ts", 1);
    const running = closing.run({ markdown: faulty(endless("closing")) }, { signal: never });
    const ended = expect(running).rejects.toThrow("Terminating worker thread");
    expect(await until(() => existsSync(fileOf("closing")))).toBe(true);
    await closing.close();
    await ended;
  });
});

test("the command renders a folder both ways, and ends by itself", async () => {
  const command = new ProgramProcess("examples/threads/main.ts", ["docs/recipes", "--threads", "1"]);
  await command.ended();
  expect([command.end, command.errors]).toEqual(["0", ""]);
  const [main, threads] = command.lines;
  expect(main).toMatch(/^in the main thread +(\d+) of \1 documents right/);
  expect(threads).toMatch(/^on threads: 1 +(\d+) of \1 documents right/);
});
