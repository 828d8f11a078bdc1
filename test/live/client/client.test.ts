import { getEventListeners } from "node:events";
import {
  type FeedEvent,
  feed,
  type LiveClientOptions,
  type LiveError,
  type LiveState,
  live,
} from "percolatordb/live/client";
import { TestClock } from "percolatordb/testing";
import { afterEach, describe, expect, test } from "vitest";
import { FakeWire, settle } from "./fake-wire.js";

/** A client with a network and a clock of the test's own. */
class Scene {
  readonly wire = new FakeWire();
  readonly clock = new TestClock();
  readonly states: LiveState[] = [];
  readonly errors: LiveError[] = [];
  readonly values: unknown[] = [];
  readonly events: FeedEvent[] = [];
  readonly options: LiveClientOptions;

  constructor() {
    const process = this.clock.process();
    this.options = {
      fetch: this.wire.fetch,
      // The most jitter, so that a test knows when the next attempt comes.
      environment: { setTimer: (run, ms) => process.setTimer(run, ms), random: () => 1 },
      onState: (state) => this.states.push(state),
      onError: (error) => this.errors.push(error),
    };
  }

  live(options: LiveClientOptions = {}) {
    return live("/live", { ...this.options, ...options, onValue: ({ value }) => this.values.push(value) });
  }

  feed(options: LiveClientOptions = {}) {
    return feed("/feed", { ...this.options, ...options, onEvent: (event) => this.events.push(event) });
  }

  get codes() {
    return this.errors.map(({ code }) => code);
  }
}

const value = (id: string, data: unknown) => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;

describe("live", () => {
  test("calls with each value and its timestamp, and tells its states", async () => {
    const { wire, options, states } = new Scene();
    const received: unknown[] = [];
    const subscription = live("/live", { ...options, onValue: (each) => received.push(each) });
    expect(subscription.state).toBe("connecting");
    await settle();
    expect(wire.last.url).toBe("/live");
    expect(Object.fromEntries(wire.last.headers)).toEqual({ accept: "text/event-stream" });
    wire.last.send(`retry: 1500\n\n${value("17-abcdefghijk", "first")}`);
    await settle();
    wire.last.send(value("18-abcdefghijk", { rows: [1] }));
    await settle();
    expect(received).toEqual([
      { value: "first", timestamp: 17 },
      { value: { rows: [1] }, timestamp: 18 },
    ]);
    expect(subscription.state).toBe("open");
    subscription.close();
    expect(subscription.state).toBe("closed");
    await settle();
    expect(states).toEqual(["connecting", "open", "closed"]);
    expect(wire.last.signal.aborted).toBe(true);
  });

  test("calls nothing before the program has its subscription", async () => {
    const { options, wire } = new Scene();
    const subscription = live("/live", {
      ...options,
      onState: () => subscription.close(),
      onValue: () => {},
    });
    await settle();
    expect([subscription.state, wire.calls.length]).toEqual(["closed", 1]);
    expect(wire.last.signal.aborted).toBe(true);
  });

  test("reads events that arrive in any pieces, with any line ends and several lines of data", async () => {
    const scene = new Scene();
    scene.live();
    await settle();
    const text = ':\n\nid: 1-a\r\ndata: {"a":\r\ndata: "ü€"}\r\n\r\n:\r\n\r\nid: 2-b\nevent:x\ndata:2\n\n';
    for (const byte of new TextEncoder().encode(text)) {
      scene.wire.last.send(Uint8Array.of(byte));
      await settle();
    }
    expect(scene.values).toEqual([{ a: "ü€" }, 2]);
  });

  test("leaves out values that a newer one has followed already", async () => {
    const scene = new Scene();
    scene.live();
    await settle();
    scene.wire.last.send(value("1-a", 1) + value("2-b", 2) + value("3-c", 3));
    await settle();
    expect(scene.values).toEqual([3]);
  });

  test("connects again with the id of the last value, after growing pauses", async () => {
    const scene = new Scene();
    scene.live();
    await settle();
    scene.wire.last.send(value("1-a", 1));
    await settle();
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      scene.wire.answers.push(new TypeError("refused"));
      if (pauseMs === 1_000) scene.wire.last.break();
      await settle();
      expect(scene.states.at(-1)).toBe("waiting");
      const { length } = scene.wire.calls;
      await scene.clock.advance(pauseMs - 1);
      expect(scene.wire.calls).toHaveLength(length);
      await scene.clock.advance(1);
      await settle();
      expect(scene.wire.calls).toHaveLength(length + 1);
      expect(scene.wire.last.headers.get("last-event-id")).toBe("1-a");
    }
    expect(new Set(scene.codes)).toEqual(new Set(["NETWORK"]));
    scene.wire.answers.length = 0;
    await scene.clock.advance(30_000);
    await settle();
    scene.wire.last.send(value("2-b", 2));
    await settle();
    expect(scene.values).toEqual([1, 2]);
    scene.wire.last.end();
    await settle();
    const { length } = scene.wire.calls;
    await scene.clock.advance(1_000);
    await settle();
    expect(scene.wire.calls).toHaveLength(length + 1);
  });

  test("a heartbeat shows that the server works, so that the next pause is short", async () => {
    const scene = new Scene();
    scene.live();
    for (let round = 0; round < 4; round++) {
      await settle();
      scene.wire.last.send(":\n\n");
      await settle();
      scene.wire.last.end();
      await settle();
      await scene.clock.advance(1_000);
      await settle();
      expect(scene.wire.calls).toHaveLength(round + 2);
    }
  });

  test("counts a silent connection as dead, but not one with heartbeats", async () => {
    const scene = new Scene();
    scene.live({ quietMs: 5_000 });
    await settle();
    for (let beat = 0; beat < 5; beat++) {
      await scene.clock.advance(4_999);
      scene.wire.last.send(":\n\n");
      await settle();
    }
    expect(scene.wire.calls).toHaveLength(1);
    await scene.clock.advance(5_000);
    await settle();
    expect(scene.codes).toEqual(["QUIET"]);
    expect(scene.wire.calls[0]!.signal.aborted).toBe(true);
    scene.wire.answers.push("hangs");
    await scene.clock.advance(1_000);
    await settle();
    await scene.clock.advance(5_000);
    await settle();
    expect(scene.codes).toEqual(["QUIET", "QUIET"]);
  });

  test("does not wait for ever for `headers`, such as a new token, and `close` ends the wait", async () => {
    const scene = new Scene();
    const never = new Promise<never>(() => {});
    let calls = 0;
    const headers = () => (++calls === 1 ? never : { authorization: "new" });
    scene.live({ headers, quietMs: 5_000 });
    await settle();
    await scene.clock.advance(5_000);
    await settle();
    expect(scene.codes).toEqual(["QUIET"]);
    await scene.clock.advance(1_000);
    await settle();
    expect(scene.wire.last.headers.get("authorization")).toBe("new");
    const values = live("/live", { ...scene.options, headers: () => never });
    const next = values[Symbol.asyncIterator]().next();
    await settle();
    values.close();
    expect(await next).toMatchObject({ done: true });
  });

  test.each([400, 401, 403, 404, 410])("gives up at the status %d", async (status) => {
    const scene = new Scene();
    scene.wire.answers.push(Response.json({ code: "FORBIDDEN", message: "You may not." }, { status }));
    const subscription = scene.live();
    await settle();
    expect(subscription.state).toBe("closed");
    expect(scene.errors).toMatchObject([
      { code: "FORBIDDEN", message: "You may not.", status, isFinal: true },
    ]);
    await scene.clock.advance(600_000);
    expect(scene.wire.calls).toHaveLength(1);
  });

  test.each([408, 429, 500, 503])("tries again after the status %d", async (status) => {
    const scene = new Scene();
    scene.wire.answers.push(new Response("no JSON", { status }));
    scene.live();
    await settle();
    expect(scene.errors).toMatchObject([{ code: "HTTP", status, isFinal: false }]);
    await scene.clock.advance(1_000);
    await settle();
    expect(scene.wire.calls).toHaveLength(2);
  });

  test("waits as long as Retry-After says, but not longer than its own limit", async () => {
    const scene = new Scene();
    for (const seconds of ["10", "86400"]) {
      scene.wire.answers.push(new Response(null, { status: 503, headers: { "retry-after": seconds } }));
    }
    scene.live({ maxRetryMs: 20_000 });
    await settle();
    await scene.clock.advance(10_999);
    expect(scene.wire.calls).toHaveLength(1);
    await scene.clock.advance(1);
    await settle();
    expect(scene.wire.calls).toHaveLength(2);
    await scene.clock.advance(22_000);
    await settle();
    expect(scene.wire.calls).toHaveLength(3);
  });

  test("gives up if the address has a page instead of events", async () => {
    const scene = new Scene();
    scene.wire.answers.push(new Response("<html>", { headers: { "content-type": "text/html" } }));
    scene.live();
    await settle();
    expect(scene.errors).toMatchObject([{ code: "HTTP", status: 200, isFinal: true }]);
  });

  test.each([
    [true, 1],
    [false, 2],
  ])("an error event with isFinal: %j leads to %d requests", async (isFinal, count) => {
    const scene = new Scene();
    scene.live();
    await settle();
    scene.wire.last.send(`${value("1-a", 1)}event: error\ndata: {"code":"QUERY","isFinal":${isFinal}}\n\n`);
    await settle();
    await scene.clock.advance(1_000);
    await settle();
    expect(scene.values).toEqual([1]);
    expect(scene.errors).toMatchObject([{ code: "QUERY", isFinal, status: undefined }]);
    expect(scene.wire.calls).toHaveLength(count);
  });

  test("a value whose handler failed comes again", async () => {
    const scene = new Scene();
    let attempts = 0;
    live("/live", {
      ...scene.options,
      onValue: async () => {
        if (++attempts === 1) throw new Error("no such element");
      },
    });
    await settle();
    scene.wire.last.send(value("1-a", 1));
    await settle();
    expect(scene.codes).toEqual(["HANDLER"]);
    await scene.clock.advance(1_000);
    await settle();
    expect(scene.wire.last.headers.has("last-event-id")).toBe(false);
    scene.wire.last.send(value("1-a", 1));
    await settle();
    scene.wire.last.end();
    await settle();
    await scene.clock.advance(1_000);
    await settle();
    expect(scene.wire.last.headers.get("last-event-id")).toBe("1-a");
    expect(attempts).toBe(2);
  });

  test("asks for the headers of each attempt", async () => {
    const scene = new Scene();
    let token = 0;
    scene.live({ headers: async () => ({ authorization: `Bearer ${++token}` }), lastEventId: "5-x" });
    await settle();
    scene.wire.last.end();
    await settle();
    await scene.clock.advance(1_000);
    await settle();
    expect(scene.wire.calls.map(({ headers }) => headers.get("authorization"))).toEqual([
      "Bearer 1",
      "Bearer 2",
    ]);
    expect(scene.wire.calls[0]!.headers.get("last-event-id")).toBe("5-x");
  });

  test("the signal closes it, before it begins, while it is open, and while it waits", async () => {
    for (const when of ["before", "open", "waiting"] as const) {
      const scene = new Scene();
      const ending = new AbortController();
      if (when === "before") ending.abort();
      const subscription = scene.live({ signal: ending.signal });
      await settle();
      if (when === "waiting") scene.wire.last.end();
      await settle();
      if (when !== "before") expect(scene.states.at(-1)).toBe(when);
      ending.abort();
      await settle();
      expect(subscription.state).toBe("closed");
      await scene.clock.advance(600_000);
      expect(scene.wire.calls).toHaveLength(when === "before" ? 0 : 1);
      expect(scene.errors).toEqual([]);
    }
  });

  test("leaves no listener on the signal, however it ends", async () => {
    for (const how of ["close", "close in the handler", "final error"] as const) {
      const scene = new Scene();
      const { signal } = new AbortController();
      const subscription = live("/live", {
        ...scene.options,
        signal,
        onValue: () => {
          if (how === "close in the handler") subscription.close();
        },
      });
      await settle();
      expect(getEventListeners(signal, "abort")).toHaveLength(1);
      scene.wire.last.send(value("1-a", 1));
      if (how === "final error")
        scene.wire.last.send('event: error\ndata: {"code":"SCHEMA","isFinal":true}\n\n');
      await settle();
      if (how === "close") subscription.close();
      await settle();
      expect(subscription.state).toBe("closed");
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
      expect(scene.wire.last.signal.aborted).toBe(true);
    }
  });

  test("can be read by a loop, which ends the connection", async () => {
    const scene = new Scene();
    const subscription = live("/live", scene.options);
    await settle();
    expect(scene.wire.calls).toHaveLength(0);
    const read: unknown[] = [];
    const reading = (async () => {
      for await (const { value: each } of subscription) if (read.push(each) === 2) break;
    })();
    for (const each of [1, 2]) {
      await settle();
      scene.wire.last.send(value(`${each}-a`, each));
    }
    await reading;
    expect(read).toEqual([1, 2]);
    expect(scene.wire.last.signal.aborted).toBe(true);
    expect(subscription.state).toBe("closed");
  });

  test("a loop throws a final error", async () => {
    const scene = new Scene();
    scene.wire.answers.push(Response.json({ code: "FORBIDDEN" }, { status: 403 }));
    const reading = (async () => {
      for await (const each of live("/live", scene.options)) expect(each).toBeUndefined();
    })();
    await expect(reading).rejects.toMatchObject({ code: "FORBIDDEN", status: 403, name: "LiveError" });
  });

  test("reads values that JSON does not have", async () => {
    const scene = new Scene();
    scene.live();
    await settle();
    scene.wire.last.send(
      value("1-a", {
        count: { $bigint: "12" },
        bytes: { $bytes: "AQL/" },
        at: { $date: "2026-01-31T12:00:00.000Z" },
        numbers: [{ $number: "NaN" }, { $number: "-Infinity" }, { $number: "-0" }],
        map: { $map: [["a", { $bigint: "1" }]] },
        set: { $set: ["a"] },
        own: { $$date: "mine" },
        twice: { $$$date: "mine" },
        two: { $date: "mine", other: 1 },
        unknown: { $other: 1 },
      }),
    );
    await settle();
    expect(scene.values).toEqual([
      {
        count: 12n,
        bytes: new Uint8Array([1, 2, 255]),
        at: new Date("2026-01-31T12:00:00.000Z"),
        numbers: [Number.NaN, Number.NEGATIVE_INFINITY, -0],
        map: new Map([["a", 1n]]),
        set: new Set(["a"]),
        own: { $date: "mine" },
        twice: { $$date: "mine" },
        two: { $date: "mine", other: 1 },
        unknown: { $other: 1 },
      },
    ]);
  });
});

describe("the online event", () => {
  const globals = globalThis as { addEventListener?: unknown; removeEventListener?: unknown };
  afterEach(() => {
    delete globals.addEventListener;
    delete globals.removeEventListener;
  });

  test("ends the pause, and leaves no listener", async () => {
    const browser = new EventTarget();
    let listeners = 0;
    globals.addEventListener = (name: string, run: () => void) => {
      listeners++;
      browser.addEventListener(name, run);
    };
    globals.removeEventListener = (name: string, run: () => void) => {
      listeners--;
      browser.removeEventListener(name, run);
    };
    const scene = new Scene();
    scene.wire.answers.push(new TypeError("offline"));
    const subscription = scene.live();
    await settle();
    expect([scene.states.at(-1), listeners]).toEqual(["waiting", 1]);
    browser.dispatchEvent(new Event("online"));
    await settle();
    expect([scene.states.at(-1), listeners]).toEqual(["open", 0]);
    scene.wire.last.end();
    await settle();
    expect(listeners).toBe(1);
    subscription.close();
    await settle();
    expect(listeners).toBe(0);
  });
});

describe("feed", () => {
  test("tells each event in order", async () => {
    const scene = new Scene();
    scene.feed({ lastEventId: "3" });
    await settle();
    expect(scene.wire.last.headers.get("last-event-id")).toBe("3");
    const change = { table: "orders", row: "a", column: "total", value: { $bigint: "1" }, isDeleted: false };
    scene.wire.last.send(
      [
        'event: reset\ndata: {"timestamp":5}\n\n',
        `event: cells\ndata: [${JSON.stringify({ commitTimestamp: 5, ...change })}]\n\n`,
        'event: ready\nid: 5\ndata: {"timestamp":5}\n\n',
        `id: 7\ndata: [${JSON.stringify({ commitTimestamp: 7, ...change })}]\n\n`,
      ].join(""),
    );
    await settle();
    expect(scene.events).toEqual([
      { type: "reset", timestamp: 5 },
      { type: "cells", changes: [{ ...change, commitTimestamp: 5, value: 1n }] },
      { type: "ready", timestamp: 5 },
      { type: "changes", timestamp: 7, changes: [{ ...change, commitTimestamp: 7, value: 1n }] },
    ]);
  });

  test("an event counts as handled only when its handler has ended", async () => {
    const scene = new Scene();
    const handled: number[] = [];
    let finish: ((error?: Error) => void) | undefined;
    feed("/feed", {
      ...scene.options,
      onEvent: (event) =>
        new Promise<void>((resolve, reject) => {
          finish = (error) => {
            finish = undefined;
            if (error !== undefined) return reject(error);
            if (event.type === "changes") handled.push(event.timestamp);
            resolve();
          };
        }),
    });
    await settle();
    scene.wire.last.send("id: 1\ndata: []\n\nid: 2\ndata: []\n\nid: 3\ndata: []\n\n");
    await settle();
    finish!();
    await settle();
    expect(handled).toEqual([1]);
    finish!(new Error("the index is away"));
    await settle();
    expect(finish).toBeUndefined();
    expect(scene.codes).toEqual(["HANDLER"]);
    await scene.clock.advance(1_000);
    await settle();
    expect(scene.wire.last.headers.get("last-event-id")).toBe("1");
    scene.wire.last.send("id: 2\ndata: []\n\n");
    await settle();
    finish!();
    await settle();
    expect(handled).toEqual([1, 2]);
  });

  test("a handler may take longer than a connection may be silent", async () => {
    const scene = new Scene();
    let finish = () => {};
    feed("/feed", {
      ...scene.options,
      quietMs: 1_000,
      onEvent: () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    });
    await settle();
    scene.wire.last.send("id: 1\ndata: []\n\n");
    await settle();
    await scene.clock.advance(100_000);
    expect(scene.errors).toEqual([]);
    finish();
    await settle();
    await scene.clock.advance(999);
    expect(scene.errors).toEqual([]);
    await scene.clock.advance(1);
    await settle();
    expect(scene.codes).toEqual(["QUIET"]);
  });
});

test.each([Number.POSITIVE_INFINITY, 2 ** 31])("a `quietMs` of %d is no short time", async (quietMs) => {
  const wire = new FakeWire();
  const errors: LiveError[] = [];
  // With the timers of the browser, which end at once if their time is too long.
  const options = { fetch: wire.fetch, quietMs, onError: (error: LiveError) => errors.push(error) };
  const subscription = live("/live", { ...options, onValue: () => {} });
  await new Promise((resolve) => setTimeout(resolve, 20));
  subscription.close();
  expect(errors).toEqual([]);
  expect(wire.calls).toHaveLength(1);
});
