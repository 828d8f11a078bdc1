import { TestClock } from "percolatordb/testing";
import { describe, expect, it } from "vitest";
import { BackupBusyError } from "../errors/index.js";
import { Lock } from "./lock.js";
import { names } from "./manifest.js";
import type { BackupStorage } from "./storage.js";

/** Longer than a holder is silent before its lock is taken over. */
const longMs = 60_000;

class MapStorage implements BackupStorage {
  readonly description = "a map";
  readonly objects = new Map<string, Buffer>();
  async put(name: string, bytes: Uint8Array) {
    this.objects.set(name, Buffer.from(bytes));
  }
  async create(name: string, bytes: Uint8Array) {
    if (this.objects.has(name)) return false;
    this.objects.set(name, Buffer.from(bytes));
    return true;
  }
  async get(name: string) {
    return this.objects.get(name);
  }
  async *list(prefix: string) {
    for (const name of this.objects.keys()) if (name.startsWith(prefix)) yield name;
  }
  async delete(name: string) {
    this.objects.delete(name);
  }
  async clean() {}
}

/** A place whose lock another holder has. `beat` writes a heartbeat of it. */
async function heldBy(process: string) {
  const storage = new MapStorage();
  let beat = 0;
  const write = () => Buffer.from(JSON.stringify({ holder: "another", process, beat: beat++ }));
  await storage.create(names.lock, write());
  return { storage, beat: () => storage.put(names.lock, write()) };
}

/** The milliseconds until the lock is taken. */
async function takeMs(clock: TestClock, storage: MapStorage, name = "mine"): Promise<number> {
  const environment = clock.process({ name });
  const began = clock.passedMs;
  const lock = await clock.until(Lock.take(storage, environment), { maxMs: longMs });
  const tookMs = clock.passedMs - began;
  await lock.release();
  expect(storage.objects.size).toBe(0);
  return tookMs;
}

/** Fails once the requests of a storage are ended. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(new Error("aborted"));
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}

describe("the lock of a place", () => {
  it("is taken over at once if its holder's process has ended on this machine", async () => {
    const clock = new TestClock({ oneMachine: true });
    clock.process({ name: "other" }).die();
    expect(await takeMs(clock, (await heldBy("other")).storage)).toBe(0);
  });

  it.each(["elsewhere", "mine"])(
    "is taken over when a holder in the process '%s' has been silent for 20 s",
    async (process) => {
      const clock = new TestClock({ oneMachine: true });
      expect(await takeMs(clock, (await heldBy(process)).storage)).toBe(20_000);
    },
  );

  it.each(["elsewhere", "mine"])("is left to a holder in the process '%s' that beats", async (process) => {
    const clock = new TestClock({ oneMachine: true });
    const { storage, beat } = await heldBy(process);
    const taking = Lock.take(storage, clock.process({ name: "mine" }));
    const refused = expect(taking).rejects.toThrow(BackupBusyError);
    await clock.advance(15_000);
    await beat();
    await clock.until(refused, { maxMs: longMs });
    expect(storage.objects.get(names.lock)!.toString()).toContain('"another"');
  });

  it("is left at once to a holder in a process that runs on this machine, or in this thread", async () => {
    const clock = new TestClock({ oneMachine: true });
    clock.process({ name: "other" });
    const mine = clock.process({ name: "mine" });
    await expect(Lock.take((await heldBy("other")).storage, mine)).rejects.toThrow(BackupBusyError);
    const storage = new MapStorage();
    const lock = await Lock.take(storage, mine);
    await expect(Lock.take(storage, mine)).rejects.toThrow(/mine/);
    expect(clock.passedMs).toBe(0);
    await lock.release();
  });

  it("is not left in the storage by a process that lives on, but could not finish taking it", async () => {
    const clock = new TestClock({ oneMachine: true });
    const storage = new MapStorage();
    const { get } = storage;
    storage.get = async () => {
      storage.get = get;
      throw new Error("The storage is away.");
    };
    await expect(Lock.take(storage, clock.process({ name: "other" }))).rejects.toThrow(/away/);
    expect(await takeMs(clock, storage)).toBe(0);
  });

  it("is taken when its holder releases it while another waits", async () => {
    const clock = new TestClock();
    const { storage } = await heldBy("elsewhere");
    const taking = Lock.take(storage, clock.process());
    await clock.advance(5_000);
    await storage.delete(names.lock);
    await (await clock.until(taking, { maxMs: longMs })).release();
    expect(clock.passedMs).toBeLessThan(20_000);
  });

  it("is lost by a holder that was silent for too long, and is not released by it", async () => {
    const clock = new TestClock();
    const storage = new MapStorage();
    const lock = await Lock.take(storage, clock.process());
    const { storage: taken } = await heldBy("elsewhere");
    storage.objects.set(names.lock, taken.objects.get(names.lock)!);
    await expect(lock.check()).rejects.toThrow(/elsewhere/);
    expect(lock.isLost).toBe(true);
    await lock.release();
    expect(storage.objects.has(names.lock)).toBe(true);
  });

  it("is not overwritten by a heartbeat that was held up while another process took it", async () => {
    const clock = new TestClock();
    const storage = new MapStorage();
    const lock = await Lock.take(storage, clock.process());
    const { objects } = storage;
    let resume = (): void => undefined;
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    storage.get = async (name) => {
      const found = objects.get(name);
      await resumed;
      return found;
    };
    await clock.advance(25_000);
    const { storage: taken } = await heldBy("elsewhere");
    objects.set(names.lock, taken.objects.get(names.lock)!);
    resume();
    await clock.advance(0);
    expect(objects.get(names.lock)!.toString()).toContain('"another"');
    await expect(lock.check()).rejects.toThrow(/elsewhere/);
    await lock.release();
  });

  it("is not overwritten by a heartbeat that the storage still sends when another process may take it", async () => {
    const clock = new TestClock();
    const storage = new MapStorage();
    const lock = await Lock.take(storage, clock.process());
    const sent: AbortSignal[] = [];
    Object.assign(storage, {
      put(_name: string, _bytes: Uint8Array, signal: AbortSignal) {
        sent.push(signal);
        return untilAborted(signal);
      },
    });
    await clock.advance(19_000);
    expect(sent.map(({ aborted }) => aborted)).toEqual([false]);
    await clock.advance(2_000);
    expect(sent[0]!.aborted).toBe(true);
    const { storage: taken } = await heldBy("elsewhere");
    storage.objects.set(names.lock, taken.objects.get(names.lock)!);
    await expect(lock.check()).rejects.toThrow(/elsewhere/);
    await lock.release();
  });

  it("is renewed by a check if the last heartbeat is old, so that nobody takes it after the check", async () => {
    const clock = new TestClock();
    const storage = new MapStorage();
    const lock = await Lock.take(storage, clock.process());
    const { put } = storage;
    storage.put = () => Promise.reject(new Error("The storage is away."));
    await clock.advance(30_000);
    await expect(lock.check()).rejects.toThrow(/away/);
    storage.put = put;
    const before = storage.objects.get(names.lock)!;
    await lock.check();
    expect(storage.objects.get(names.lock)).not.toEqual(before);
    expect(lock.isLost).toBe(false);
    await lock.release();
  });

  it.each([
    { slowMs: 16_000, outcome: "renewed" },
    { slowMs: Number.POSITIVE_INFINITY, outcome: "given up" },
  ])(
    "is $outcome by a check if the storage is slow for $slowMs ms meanwhile",
    async ({ slowMs, outcome }) => {
      const clock = new TestClock();
      const storage = new MapStorage();
      const environment = clock.process();
      const lock = await Lock.take(storage, environment);
      const { put, objects } = storage;
      storage.put = () => Promise.reject(new Error("The storage is away."));
      await clock.advance(30_000);
      storage.put = put;
      const before = objects.get(names.lock)!;
      let looks = 0;
      storage.get = async (name) => {
        // The first look belongs to no heartbeat.
        if (++looks > 1 && clock.passedMs < 30_000 + slowMs)
          await new Promise<void>((done) => void environment.setTimer(done, 16_000));
        return objects.get(name);
      };
      const checked = clock.until(lock.check(), { maxMs: 300_000 });
      if (outcome === "renewed") {
        await checked;
        expect(objects.get(names.lock)).not.toEqual(before);
      } else {
        await expect(checked).rejects.toThrow(/may take over/);
        expect(objects.get(names.lock)).toEqual(before);
      }
      expect(lock.isLost).toBe(false);
    },
  );

  it("is left to die after 5 s if the storage does not answer the release", async () => {
    const clock = new TestClock();
    const storage = new MapStorage();
    const requests = new AbortController();
    const lock = await Lock.take(storage, clock.process(), undefined, requests);
    storage.get = () => untilAborted(requests.signal);
    await clock.until(lock.release(), { maxMs: longMs });
    expect(clock.passedMs).toBe(5_000);
  });

  it("is not waited for longer than 5 s after the signal if the storage does not answer", async () => {
    const clock = new TestClock();
    const storage = new MapStorage();
    const [requests, stopping] = [new AbortController(), new AbortController()];
    storage.create = () => untilAborted(requests.signal);
    const taking = Lock.take(storage, clock.process(), stopping.signal, requests);
    const failed = expect(taking).rejects.toThrow("aborted");
    await clock.advance(60_000);
    stopping.abort();
    await clock.until(failed, { maxMs: longMs });
    expect(clock.passedMs).toBe(65_000);
  });

  it("has heartbeats, which keep others away for as long as the holder lives", async () => {
    const clock = new TestClock();
    const storage = new MapStorage();
    const first = storage.objects;
    const lock = await Lock.take(storage, clock.process());
    const before = first.get(names.lock)!.toString();
    await clock.advance(longMs);
    expect(first.get(names.lock)!.toString()).not.toBe(before);
    expect(JSON.parse(first.get(names.lock)!.toString())).toMatchObject({ beat: 12 });
    await lock.release();
    await clock.advance(longMs);
    expect(first.size).toBe(0);
  });
});
