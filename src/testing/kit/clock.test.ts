import { describe, expect, test } from "vitest";
import { open } from "../../database/index.js";
import { type Environment, sleep } from "../../environment/index.js";
import { InvalidArgumentError, TimeoutError } from "../../errors/index.js";
import { observer } from "../../observer/index.js";
import { int, table, text } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { ProcessStore, TestClock } from "./index.js";

/** Appends the name to the log when the timer fires. */
function wait(log: string[], environment: Environment, name: string, ms: number, background = false): void {
  environment.setTimer(() => log.push(name), ms, { background });
}

test("a misspelt option is refused: without it, a test would wait for ever, or test nothing", () => {
  const clock = new TestClock();
  const misspelt: object = { passByItself: true };
  expect(() => new TestClock(misspelt)).toThrow("`TestClock` has no option `passByItself`");
  expect(() => clock.process(misspelt)).toThrow("`process` has no option `passByItself`");
  const store = () => new ProcessStore(memoryStore(), clock.process(), misspelt);
  expect(store).toThrow("`ProcessStore` has no option `passByItself`. It takes `delayMs`.");
});

describe("a clock that advances on demand", () => {
  test("stands still until then, and advances from timer to timer", async () => {
    const clock = new TestClock();
    const process = clock.process();
    const log: string[] = [];
    wait(log, process, "second", 20);
    wait(log, process, "first", 10, true);
    wait(log, process, "third", 20);
    await clock.settle();
    expect(log).toEqual([]);
    await clock.advance(19);
    expect(log).toEqual(["first"]);
    await clock.advance(1);
    expect(log).toEqual(["first", "second", "third"]);
    expect(clock.passedMs).toBe(20);
  });

  test("lets everything that a timer starts run to its end before the next one fires", async () => {
    const clock = new TestClock();
    const process = clock.process();
    const log: number[] = [];
    const steps = async () => {
      for (let step = 0; step < 3; step++) {
        await sleep(process, 10);
        // These turns take longer than the clock waits for work that it does not know of.
        for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => process.defer(resolve));
        log.push(clock.passedMs);
      }
    };
    void steps();
    await clock.advance(100);
    expect(log).toEqual([10, 20, 30]);
  });

  test("a cancelled timer does not fire", async () => {
    const clock = new TestClock();
    const log: string[] = [];
    clock
      .process()
      .setTimer(() => log.push("fired"), 10)
      .cancel();
    await clock.advance(100);
    expect(log).toEqual([]);
  });

  test("advances until a promise is settled, and no further", async () => {
    const clock = new TestClock();
    const process = clock.process();
    const log: string[] = [];
    wait(log, process, "much later", 1_000_000);
    expect(await clock.until(sleep(process, 1_000).then(() => "done"))).toBe("done");
    expect(clock.passedMs).toBe(1_000);
    expect(log).toEqual([]);
    await expect(clock.until(Promise.reject(new Error("refused")))).rejects.toThrow("refused");
  });

  test("throws if time does not settle a promise", async () => {
    const clock = new TestClock();
    const process = clock.process();
    const never = new Promise(() => {});
    await expect(clock.until(never)).rejects.toThrow(TimeoutError);
    await expect(clock.until(sleep(process, 100), { maxMs: 99 })).rejects.toThrow("after 99 ms");
    expect(clock.passedMs).toBe(0);
  });

  test("stands still while something takes real time", async () => {
    const clock = new TestClock();
    const process = clock.process();
    let end = () => {};
    const disk = new Promise<void>((resolve) => {
      end = resolve;
    });
    const log: string[] = [];
    wait(log, process, "timer", 1);
    void clock.during(disk).then(() => log.push("disk"));
    const advancing = clock.advance(10);
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual([]);
    end();
    await advancing;
    expect(log).toEqual(["disk", "timer"]);
  });

  test("refuses invalid arguments", async () => {
    const clock = new TestClock();
    await expect(clock.advance(-1)).rejects.toThrow(InvalidArgumentError);
    await expect(clock.advance(Number.NaN)).rejects.toThrow(InvalidArgumentError);
    // With a timer that is set again and again, none of these would end.
    await expect(clock.advance(Infinity)).rejects.toThrow(InvalidArgumentError);
    await expect(clock.until(Promise.resolve(), { maxMs: Number.NaN })).rejects.toThrow(InvalidArgumentError);
    expect(() => clock.process({ name: "set" }).setClock(Number.NaN)).toThrow(InvalidArgumentError);
    expect([clock.passedMs, await clock.until(Promise.resolve(7), { maxMs: Infinity })]).toEqual([0, 7]);
    expect(() => new TestClock({ startMs: Number.NaN })).toThrow(InvalidArgumentError);
    expect(() => clock.process({ rate: 0 })).toThrow(InvalidArgumentError);
    expect(() => clock.process({ offsetMs: Number.NaN })).toThrow(InvalidArgumentError);
    clock.process({ name: "a" });
    expect(() => clock.process({ name: "a" })).toThrow('process "a"');
  });
});

describe("a clock that advances by itself", () => {
  test("jumps to the next timer while a caller waits", async () => {
    const clock = new TestClock({ passesByItself: true });
    const process = clock.process();
    const log: string[] = [];
    wait(log, process, "background", 5, true);
    await sleep(process, 86_400_000);
    expect(log).toEqual(["background"]);
    expect(clock.passedMs).toBe(86_400_000);
  });

  test("does not advance only for background work, nor for a suspended process", async () => {
    const clock = new TestClock({ passesByItself: true });
    const [running, standing] = [clock.process(), clock.process()];
    const log: string[] = [];
    wait(log, running, "background", 5, true);
    standing.suspend();
    wait(log, standing, "standing", 10);
    await clock.settle();
    await clock.settle();
    expect(log).toEqual([]);
    standing.resume();
    await sleep(running, 20);
    expect(log).toEqual(["background", "standing"]);
  });
});

test("the retries of an observer, and the waits between them, take no time", async () => {
  const documents = table("documents", { text: text(), tries: int() });
  const clock = new TestClock();
  const triedAt: number[] = [];
  const flaky = observer(
    "flaky",
    documents.text,
    (tx, { row }) => {
      triedAt.push(clock.passedMs);
      if (triedAt.length < 4) throw new Error("not yet");
      tx.set(documents.tries, row, triedAt.length);
    },
    { attempts: 5, backoff: { initialMs: 60_000, maximumMs: 3_600_000 } },
  );
  await using db = await open("memory:", { environment: clock.process(), observers: [flaky] });
  await db.transact((tx) => tx.set(documents.text, "a", "hello"));
  await clock.until(db.drain());
  await using snapshot = await db.snapshot();
  expect(await snapshot.get(documents.tries, "a")).toBe(4);
  const waits = triedAt.slice(1).map((at, index) => at - triedAt[index]!);
  for (const [index, wait] of waits.entries()) {
    expect(wait).toBeGreaterThanOrEqual(30_000 * 2 ** index);
    expect(wait).toBeLessThanOrEqual(60_000 * 2 ** index + 1_000);
  }
});

test("a process without a name gets one that no other has", () => {
  const clock = new TestClock();
  clock.process({ name: "process-2" });
  expect(clock.process().processName).toBe("process-3");
});
