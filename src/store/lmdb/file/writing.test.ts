import { describe, expect, it } from "vitest";
import { type NativeEnvironment, Writing } from "./writing.js";

/**
 * A fake of LMDB's binding. It runs one thread at a time, and the test decides each thread's
 * result.
 */
class FakeBinding {
  threads: ((status: number) => unknown)[] = [];
  asked: (() => void)[] = [];
  unlocked = 0;
  closed = false;
  syncs: ((error?: unknown) => void)[] = [];
  readonly env: NativeEnvironment = {
    address: 1,
    startWriting: (_, report) => this.threads.push(report),
    resumeWriting: () => this.unlocked++,
    sync: (callback) => {
      if (callback !== undefined) this.syncs.push(callback);
    },
    info: () => ({ lastTxnId: 0 }),
    close: () => {
      this.closed = true;
    },
  };

  transaction(action: () => void): Promise<unknown> {
    this.asked.push(action);
    // Some promises never settle, and some settle too soon. The code must not depend on them.
    return this.asked.length % 2 === 0 ? Promise.resolve() : new Promise(() => undefined);
  }

  close(): Promise<void> {
    return new Promise(() => undefined);
  }

  /**
   * Starts a thread as the binding does. The thread runs the requested actions when its transaction
   * opens.
   */
  start(): (status: number) => void {
    const before = this.threads.length;
    this.env.startWriting(0, (status) => {
      if (status === 2) for (const action of this.asked.splice(0)) action();
    });
    return this.threads[before] ?? (() => undefined);
  }
}

function begin() {
  const binding = new FakeBinding();
  return { binding, writing: new Writing(binding) };
}

async function settled(promise: Promise<void>): Promise<string> {
  const soon = new Promise<string>((resolve) => setImmediate(() => resolve("waiting")));
  return await Promise.race([
    promise.then(
      () => "done",
      (error: unknown) => String((error as { code: unknown }).code),
    ),
    soon,
  ]);
}

describe("write threads", () => {
  it("settle the requests of their transaction at their end, whatever the binding's promises do", async () => {
    const { binding, writing } = begin();
    const numbers: number[] = [];
    const note = () => numbers.push(writing.thread);
    const [first, second] = [writing.transaction(note), writing.transaction(note)];
    const thread = binding.start();
    thread(2);
    thread(1);
    const third = writing.transaction(note);
    const next = binding.start();
    expect(await Promise.all([first, second, third].map(settled))).toEqual(["waiting", "waiting", "waiting"]);
    next(2);
    thread(0);
    expect(await Promise.all([first, second, third].map(settled))).toEqual(["done", "done", "waiting"]);
    next(28);
    expect(await settled(third)).toBe("28");
    await expect(third).rejects.toThrow("ENOSPC");
    expect(numbers).toEqual([1, 1, 2]);
    expect([writing.thread, writing.broken]).toEqual([0, false]);
  });

  it("wait for the event loop as they begin, and again for actions that join their transaction", async () => {
    const { binding, writing } = begin();
    const done = writing.transaction(() => undefined);
    expect(writing.isBeginning).toBe(false);
    const thread = binding.start();
    expect(writing.isBeginning).toBe(true);
    thread(2);
    expect(writing.isBeginning).toBe(false);
    const joined = writing.transaction(() => undefined);
    expect(writing.isBeginning).toBe(true);
    thread(2);
    expect(writing.isBeginning).toBe(false);
    thread(0);
    expect(await Promise.all([done, joined].map(settled))).toEqual(["done", "done"]);
    void writing.transaction(() => undefined);
    expect(writing.isBeginning).toBe(false);
  });

  it("wait for the event loop for joined actions, even if nothing more may begin", async () => {
    const { binding, writing } = begin();
    const done = writing.transaction(() => undefined);
    const thread = binding.start();
    thread(2);
    const refused = writing.transaction(() => undefined);
    writing.condemn();
    expect(writing.isBeginning).toBe(true);
    thread(2);
    expect(writing.isBeginning).toBe(false);
    thread(0);
    expect(await Promise.all([done, refused].map(settled))).toEqual(["done", "-30795"]);
  });

  it("release the lock of a thread that could not begin, and let none begin after it", async () => {
    const { binding, writing } = begin();
    const first = writing.transaction(() => undefined);
    const thread = binding.start();
    thread(2);
    const second = writing.transaction(() => undefined);
    const next = binding.start();
    thread(-30795);
    expect(writing.broken).toBe(true);
    expect(await Promise.all([first, second].map(settled))).toEqual(["-30795", "-30795"]);
    expect(await settled(writing.transaction(() => undefined))).toBe("-30795");
    const stopped = writing.stop();
    expect(await settled(stopped)).toBe("waiting");
    next(-30795);
    expect(await settled(stopped)).toBe("done");
    expect(binding.start()).toBeTypeOf("function");
    expect(binding.threads.length).toBe(2);
    expect(writing.abandon()).toBe(true);
    expect([binding.unlocked, binding.closed, binding.env.address]).toEqual([1, true, 0]);
  });

  it("that failed leave no promise of the binding to wait for when the environment is closed", async () => {
    const { binding, writing } = begin();
    const done = writing.transaction(() => undefined);
    const thread = binding.start();
    thread(2);
    thread(28);
    const closed = writing.close();
    expect(await Promise.all([done, closed].map(settled))).toEqual(["28", "done"]);
    expect([binding.closed, binding.env.address]).toEqual([true, 0]);
  });

  it("and flushes end before the environment is closed", async () => {
    const { binding, writing } = begin();
    const flush = new Promise<void>((resolve) => writing.sync(() => resolve()));
    const done = writing.transaction(() => undefined);
    const thread = binding.start();
    thread(2);
    const stopped = writing.stop();
    thread(0);
    expect(await Promise.all([done, stopped].map(settled))).toEqual(["done", "waiting"]);
    binding.syncs[0]!();
    expect(await Promise.all([flush, stopped].map(settled))).toEqual(["done", "done"]);
    const refused = new Promise<void>((resolve, reject) =>
      writing.sync((error) => (error ? reject(error) : resolve())),
    );
    expect(await settled(refused)).toBe("-30795");
  });
});
