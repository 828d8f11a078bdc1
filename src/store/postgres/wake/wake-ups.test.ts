import { expect, test } from "vitest";
import { TestClock } from "../../../testing/index.js";
import type { Connections, Held } from "../wire/connections.js";
import { WakeUps } from "./wake-ups.js";

test("a listener gives back each connection that it took, also if one ends late", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const pause = (ms: number) => new Promise<void>((resolve) => environment.setTimer(resolve, ms));
  const open = new Set<object>();
  let count = 0;
  const hold = async (): Promise<Held> => {
    if (count++ > 0) await pause(2_000);
    const listeners: (() => void)[] = [];
    const held: Held = {
      run: async () => [["channel"]],
      // Nothing is heard, as behind PgBouncer in transaction mode.
      onNotification: () => undefined,
      onEnd: (listener) => listeners.push(listener),
      end: () => {
        // The connection ends when the next one is already being made.
        const tell = () => {
          for (const listener of listeners) listener();
        };
        if (open.delete(held)) void pause(500).then(tell);
      },
    };
    open.add(held);
    return held;
  };
  const wakeUps = new WakeUps(
    { environment, hold, once: async () => [], deadline: () => 0 } as unknown as Connections,
    "s",
  );
  wakeUps.watch(() => undefined);
  await clock.advance(6_000);
  wakeUps.close();
  await clock.advance(6_000);
  expect(count).toBeGreaterThan(1);
  expect(open.size).toBe(0);
});

test("a connection that hears only itself is not live, as behind PgBouncer in transaction mode", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const heard: ((payload: string) => void)[] = [];
  const hold = async (): Promise<Held> => ({
    run: async (text) => {
      const payload = /pg_notify\(.*, '(.*)'\)/.exec(text)?.[1];
      if (payload !== undefined) for (const listener of heard) listener(payload);
      return [["channel"]];
    },
    onNotification: (listener) => heard.push(listener),
    onEnd: () => undefined,
    end: () => undefined,
  });
  const sent: unknown[] = [];
  const once = async (_: unknown, values: readonly unknown[]) => {
    sent.push(...values);
    return [];
  };
  const wakeUps = new WakeUps({ environment, hold, once, deadline: () => 0 } as unknown as Connections, "s");
  const watch = wakeUps.watch(() => undefined);
  await clock.advance(500);
  expect(watch.isLive).toBe(false);
  // The test comes from another connection.
  for (const listener of heard) listener(String(sent[0]));
  expect(watch.isLive).toBe(true);
  wakeUps.close();
});
