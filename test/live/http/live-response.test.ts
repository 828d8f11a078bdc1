import { getEventListeners } from "node:events";
import type { LiveRead } from "percolatordb";
import { type Environment, InvalidArgumentError, systemEnvironment } from "percolatordb";
import { type LiveResponseOptions, liveResponse } from "percolatordb/live";
import { TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { Blocks } from "./support/events.js";
import { FakeLive } from "./support/fake-live.js";

const request = (headers: Record<string, string> = {}, path = "") =>
  new Request(`http://localhost/${path}`, { headers });

/** A live query of a variable. */
class Scene {
  readonly db = new FakeLive();
  readonly clock = new TestClock();
  readonly environment = this.clock.process();
  readonly errors: unknown[] = [];
  value: unknown = "first";
  readonly query: LiveRead<unknown> = () => this.value;

  set(value: unknown): void {
    this.value = value;
    this.db.change();
  }

  async open(options: LiveResponseOptions = {}, headers: Record<string, string> = {}, path = "") {
    const response = await liveResponse(this.db, this.query, request(headers, path), {
      environment: this.environment,
      onError: (error) => this.errors.push(error),
      ...options,
    });
    return { response, blocks: new Blocks(response) };
  }
}

/** Lets everything that needs no time happen. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("liveResponse", () => {
  test("sends the value, and each new one, as server-sent events with ids", async () => {
    const scene = new Scene();
    const { response, blocks } = await scene.open();
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    });
    const first = await blocks.next();
    expect(first).toMatchObject({ event: "message", data: '"first"' });
    expect(first?.id).toMatch(/^1-[\w-]{11}$/);
    scene.set({ rows: ["a", "b\n"] });
    const second = await blocks.next();
    expect(second?.data).toBe('{"rows":["a","b\\n"]}');
    expect(second?.id).toMatch(/^2-[\w-]{11}$/);
    await blocks.cancel();
    await settle();
    expect(scene.db.open).toBe(0);
  });

  test("sends nothing while the value is the same", async () => {
    const scene = new Scene();
    const { blocks } = await scene.open();
    await blocks.next();
    const next = blocks.next();
    scene.set("first");
    await settle();
    scene.set("second");
    expect((await next)?.data).toBe('"second"');
    await blocks.cancel();
  });

  test.each(["header", "query parameter"])(
    "sends a client that comes back only a value that it does not have: %s",
    async (how) => {
      const scene = new Scene();
      const { blocks } = await scene.open();
      const { id } = (await blocks.next())!;
      await blocks.cancel();
      scene.db.change();
      const again = () =>
        how === "header"
          ? scene.open({}, { "last-event-id": id! })
          : scene.open({}, {}, `?lastEventId=${encodeURIComponent(id!)}`);
      const same = await again();
      // So the client knows that the server works, and its next pause is short.
      expect(await same.blocks.block()).toMatchObject({ comment: "", data: undefined });
      const next = same.blocks.block();
      await settle();
      scene.set("second");
      expect((await next)?.data).toBe('"second"');
      await same.blocks.cancel();
      const other = await again();
      expect((await other.blocks.next())?.data).toBe('"second"');
      await other.blocks.cancel();
    },
  );

  test.each(["x", "1", "1-", "1-short", "-1-abcdefghijk", "99999999999999999-abcdefghijk", "1-abcdefghijk-"])(
    "refuses an id that is none: %s",
    async (id) => {
      const scene = new Scene();
      for (const { response } of [
        await scene.open({}, { "last-event-id": id }),
        await scene.open({}, {}, `?lastEventId=${id}`),
      ]) {
        expect(response.status).toBe(400);
      }
      const response = await liveResponse(scene.db, scene.query, request({ "last-event-id": id }));
      expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
      expect(await response.json()).toEqual({
        code: "INVALID_ARGUMENT",
        message:
          "Last-Event-ID, or `lastEventId`, must be the id of an event of this response. Connect again without it.",
      });
      expect([scene.db.open, scene.db.runs]).toEqual([0, 0]);
    },
  );

  test("takes an empty id as none", async () => {
    const scene = new Scene();
    const { blocks } = await scene.open({}, { "last-event-id": "" }, "?lastEventId=");
    expect((await blocks.next())?.data).toBe('"first"');
    await blocks.cancel();
  });

  test("a slow client gets the newest value, and the query does not run while it takes nothing", async () => {
    const scene = new Scene();
    const { blocks } = await scene.open();
    await blocks.next();
    await settle();
    expect(scene.db.runs).toBe(1);
    for (let index = 0; index < 10; index++) {
      scene.set(index);
      await settle();
    }
    expect(scene.db.runs).toBe(1);
    expect(await blocks.data()).toBe(9);
    expect(scene.db.runs).toBe(2);
    await blocks.cancel();
  });

  test("has heartbeats only while nothing else is sent", async () => {
    const scene = new Scene();
    const { blocks } = await scene.open({ heartbeatMs: 1_000 });
    await blocks.block();
    const beat = blocks.block();
    await settle();
    await scene.clock.advance(999);
    scene.set("second");
    expect((await beat)?.data).toBe('"second"');
    const next = blocks.block();
    await settle();
    await scene.clock.advance(999);
    let isThere = false;
    void next.then(() => {
      isThere = true;
    });
    await settle();
    expect(isThere).toBe(false);
    await scene.clock.advance(1);
    expect(await next).toMatchObject({ comment: "", data: undefined });
    await blocks.cancel();
  });

  test("has no heartbeat for a client that has not taken the last event", async () => {
    const scene = new Scene();
    const { blocks } = await scene.open({ heartbeatMs: 1_000 });
    await blocks.block();
    await settle();
    await scene.clock.advance(5_000);
    scene.set("second");
    expect((await blocks.block())?.data).toBe('"second"');
    await blocks.cancel();
  });

  test("leaves no timer, no listener and no place taken when it has ended", async () => {
    const scene = new Scene();
    let timers = 0;
    const environment: Environment = {
      ...systemEnvironment,
      setTimer: (run, ms) => {
        timers++;
        const timer = scene.environment.setTimer(() => {
          timers--;
          run();
        }, ms);
        let isCancelled = false;
        const cancel = () => {
          if (!isCancelled) timers--;
          isCancelled = true;
          timer.cancel();
        };
        return { cancel };
      },
    };
    const asked = request();
    const options = { environment, maxAgeMs: 60_000, heartbeatMs: 1_000 };
    const blocks = new Blocks(await liveResponse(scene.db, scene.query, asked, options));
    await blocks.next();
    void blocks.next();
    await settle();
    expect(timers).toBeGreaterThan(0);
    expect(getEventListeners(asked.signal, "abort")).toHaveLength(1);
    await blocks.cancel();
    await settle();
    expect(timers).toBe(0);
    expect(getEventListeners(asked.signal, "abort")).toHaveLength(0);
  });

  test("`maxAgeMs` does not keep a client that takes nothing", async () => {
    const scene = new Scene();
    const { blocks } = await scene.open({ maxAgeMs: 1_000, slowMs: 5_000 });
    await settle();
    await scene.clock.advance(5_000);
    await expect(blocks.next()).rejects.toThrow("took nothing");
  });

  test("ends a client that takes nothing, whether it has begun to or not, and its query", async () => {
    const scene = new Scene();
    const never = await scene.open({ slowMs: 5_000 });
    const once = await scene.open({ slowMs: 5_000 });
    await once.blocks.next();
    await settle();
    expect(scene.db.open).toBe(1);
    await scene.clock.advance(4_999);
    expect(scene.db.open).toBe(1);
    await scene.clock.advance(1);
    await settle();
    expect(scene.db.open).toBe(0);
    for (const { blocks } of [never, once]) {
      await expect(blocks.next()).rejects.toThrow("The client took nothing for 5000 ms.");
    }
    const third = await scene.open({ maxConnections: 1 });
    expect(third.response.status).toBe(200);
    await third.blocks.cancel();
  });

  test("a client that takes what it gets is not slow, however long the value stays the same", async () => {
    const scene = new Scene();
    const { blocks } = await scene.open({ slowMs: 1_000, heartbeatMs: 60_000 });
    await blocks.next();
    const next = blocks.next();
    await settle();
    await scene.clock.advance(50_000);
    scene.set("second");
    expect((await next)?.data).toBe('"second"');
    await blocks.cancel();
  });

  test("ends a connection after `maxAgeMs`, after what was sent", async () => {
    const scene = new Scene();
    const { blocks } = await scene.open({ maxAgeMs: 10_000 });
    await blocks.next();
    const next = blocks.next();
    await settle();
    await scene.clock.advance(10_000);
    expect(await next).toBeUndefined();
    await settle();
    expect(scene.db.open).toBe(0);
    expect(scene.errors).toEqual([]);
  });

  test("refuses more clients than `maxConnections`, until one goes away", async () => {
    const scene = new Scene();
    const options = { maxConnections: 2 };
    const clients = [await scene.open(options), await scene.open(options)];
    const third = await scene.open(options);
    expect(third.response.status).toBe(503);
    expect(third.response.headers.get("retry-after")).toBe("10");
    expect(scene.errors).toEqual([]);
    await clients[0]!.blocks.cancel();
    const fourth = await scene.open(options);
    expect(fourth.response.status).toBe(200);
    for (const { blocks } of [clients[1]!, fourth]) await blocks.cancel();
  });

  test("counts a client that was refused for its id as gone", async () => {
    const scene = new Scene();
    for (let index = 0; index < 3; index++) {
      expect((await scene.open({ maxConnections: 1 }, { "last-event-id": "x" })).response.status).toBe(400);
    }
    const { response, blocks } = await scene.open({ maxConnections: 1 });
    expect(response.status).toBe(200);
    await blocks.cancel();
  });

  test("tells the client that the value is too large, and the program how large it was", async () => {
    const scene = new Scene();
    scene.value = "ä".repeat(50);
    const { blocks } = await scene.open({ maxBytes: 102 });
    expect(await blocks.data()).toBe(scene.value);
    scene.set("ä".repeat(51));
    expect(await blocks.next()).toMatchObject({
      event: "error",
      id: undefined,
      data: '{"code":"LIMIT_EXCEEDED","isFinal":true}',
    });
    expect(await blocks.next()).toBeUndefined();
    expect(String(scene.errors)).toContain("has 104 bytes of JSON, but an event may have 102");
    expect(scene.db.open).toBe(0);
  });

  test("tells the client only the code of an error of the query", async () => {
    const scene = new Scene();
    const error = new Error("the password is hunter2");
    const query = () => {
      throw error;
    };
    const response = await liveResponse(scene.db, query, request(), {
      onError: (each) => {
        scene.errors.push(each);
        throw new Error("a broken logger");
      },
    });
    const text = await response.text();
    expect(text).toMatch(/^retry: \d+\n\nevent: error\ndata: \{"code":"QUERY","isFinal":false\}\n\n$/);
    expect(scene.errors).toEqual([error]);
    expect(scene.db.open).toBe(0);
  });

  test("tells the client the code of an error of this package", async () => {
    const scene = new Scene();
    const query = () => {
      throw new InvalidArgumentError("`limit` must be a number.");
    };
    const text = await (await liveResponse(scene.db, query, request())).text();
    expect(text).toContain('data: {"code":"INVALID_ARGUMENT","isFinal":true}');
    expect(text).not.toContain("limit");
  });

  test("ends when the database is closed, and refuses clients afterwards", async () => {
    const scene = new Scene();
    const { blocks } = await scene.open();
    await blocks.next();
    const next = blocks.next();
    await settle();
    scene.db.close();
    expect(await next).toMatchObject({ event: "error", data: '{"code":"CLOSED","isFinal":false}' });
    expect(await blocks.next()).toBeUndefined();
    const { response } = await scene.open();
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("2");
    expect(scene.errors).toEqual([]);
  });

  test("ends at once when the request is aborted", async () => {
    const scene = new Scene();
    const gone = new AbortController();
    const asked = new Request("http://localhost/", { signal: gone.signal });
    const blocks = new Blocks(await liveResponse(scene.db, scene.query, asked));
    await blocks.next();
    const next = blocks.next();
    await settle();
    gone.abort();
    expect(await next).toBeUndefined();
    await settle();
    expect(scene.db.open).toBe(0);
    const late = await liveResponse(scene.db, scene.query, asked, { maxConnections: 1 });
    expect(await late.text()).toBe("");
    expect((await scene.open({ maxConnections: 1 })).response.status).toBe(200);
  });

  test("writes values that JSON does not have in the stated form", async () => {
    const scene = new Scene();
    scene.value = {
      count: 12n,
      bytes: new Uint8Array([1, 2, 255]),
      at: new Date("2026-01-31T12:00:00.000Z"),
      numbers: [Number.NaN, Number.POSITIVE_INFINITY, -0, 1.5],
      map: new Map([["a", 1n]]),
      set: new Set(["a"]),
      list: [undefined, null],
      left: undefined,
      own: { $date: "mine" },
      two: { $date: "mine", $other: 1 },
      link: new URL("https://example.org/"),
    };
    const { blocks } = await scene.open();
    expect(await blocks.data()).toEqual({
      count: { $bigint: "12" },
      bytes: { $bytes: "AQL/" },
      at: { $date: "2026-01-31T12:00:00.000Z" },
      numbers: [{ $number: "NaN" }, { $number: "Infinity" }, { $number: "-0" }, 1.5],
      map: { $map: [["a", { $bigint: "1" }]] },
      set: { $set: ["a"] },
      list: [{ $undefined: true }, null],
      own: { $$date: "mine" },
      two: { $date: "mine", $other: 1 },
      link: "https://example.org/",
    });
    await blocks.cancel();
  });

  const itself: unknown[] = [];
  itself.push(itself);
  test.each([
    ["a function", { run: () => 1 }, "contains a function"],
    ["a symbol", [Symbol("a")], "contains a symbol"],
    ["an invalid date", new Date(Number.NaN), "an invalid Date"],
    ["itself", itself, "contains itself"],
    ["other binary data", new Uint16Array(1), "not a Uint8Array"],
  ])("refuses a value with %s", async (_, value, message) => {
    const scene = new Scene();
    scene.value = value;
    const { blocks } = await scene.open();
    expect((await blocks.next())?.data).toBe('{"code":"INVALID_VALUE","isFinal":true}');
    expect(String(scene.errors)).toContain(message);
  });

  test.each([
    [{ heartbeatMS: 1 }, "`liveResponse` has no option `heartbeatMS`"],
    [{ heartbeatMs: 0 }, "`heartbeatMs` of `liveResponse` must be a number of at least 1, not 0"],
    [{ slowMs: "1 s" }, "`slowMs` of `liveResponse` must be a number"],
    [{ maxAgeMs: Number.NaN }, "`maxAgeMs` of `liveResponse`"],
    [{ maxBytes: -1 }, "`maxBytes` of `liveResponse`"],
    [{ maxConnections: 0 }, "`maxConnections` of `liveResponse`"],
    [{ throttleMs: -1 }, "`throttleMs` of `liveResponse` must be a number of at least 0, not -1"],
    [{ timeoutMs: 0 }, "`timeoutMs` of `liveResponse` must be a number of at least 1, not 0"],
    [{ authorize: true }, "`authorize` of `liveResponse` must be a function"],
    [{ onError: "log" }, "`onError` of `liveResponse` must be a function"],
    [{ cors: { origins: "https://a.example" } }, '`cors.origins` of `liveResponse` must be "*", or origins'],
    [{ cors: { origins: ["https://a.example/"] } }, "`cors.origins`"],
    [{ cors: { origins: "*", credentials: true } }, "any page could read a user's data"],
    [{ cors: { origins: [], methods: [] } }, "`cors of liveResponse` has no option `methods`"],
  ])("refuses the option %j", async (options, message) => {
    const scene = new Scene();
    const answered = liveResponse(scene.db, scene.query, request(), options as LiveResponseOptions);
    await expect(answered).rejects.toThrow(message);
    await expect(answered).rejects.toThrow(InvalidArgumentError);
  });
});
