import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect as connectHttp2, createServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { type Database, feed, int, open, table } from "percolatordb";
import { feedResponse, liveQuery, liveResponse, sendResponse, toNode } from "percolatordb/live";
import { TestClock } from "percolatordb/testing";
import { afterAll, describe, expect, test, vi } from "vitest";
import { until } from "../../support/waiting.js";
import { Blocks } from "./support/events.js";
import { FakeLive } from "./support/fake-live.js";
import { serve } from "./support/servers.js";

const orders = table("orders", { total: int() });
const orderFeed = feed("order-feed", [orders.total]);
const sum = liveQuery(async (snapshot) => {
  let total = 0;
  for await (const { value } of snapshot.scan(orders.total)) total += value;
  return { total };
});

type Answer = (request: Request) => Response | Promise<Response>;

/** The ways to serve. */
const servers = {
  "node:http": toNode,
  Express: (answer: Answer) => {
    // Express calls handlers with a third argument, and with the path cut by mounted routers.
    const listener = toNode(answer);
    return (...[request, response]: Parameters<typeof listener>) => {
      Object.assign(request, { originalUrl: request.url, url: "/" });
      listener(request, response, (error) => response.writeHead(500).end(`next: ${String(error)}`));
    };
  },
  Hono: (answer: Answer) => {
    const app = new Hono();
    app.all("/*", (c) => answer(c.req.raw));
    return getRequestListener(app.fetch);
  },
};

// Hono's adapter replaces the global classes by its own, which other test files must not get.
const globals = { Request, Response };
afterAll(() => {
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
});

async function now(db: Database): Promise<number> {
  await using snapshot = await db.snapshot();
  return snapshot.timestamp;
}

describe.each(Object.entries(servers))("in a server of %s", (_, listenerOf) => {
  test("values and changes arrive as they are committed, and continue after a break", async () => {
    await using db = await open("memory:", { feeds: [orderFeed] });
    await using server = await serve(
      listenerOf((request) =>
        new URL(request.url).pathname === "/sum"
          ? liveResponse(db, sum, request, { gzip: true })
          : feedResponse(db, orderFeed, request, { gzip: true }),
      ),
    );
    const since = await now(db);
    const sums = new Blocks(await fetch(`${server.url}sum`));
    const changes = new Blocks(await fetch(`${server.url}feed?lastEventId=${since}`));
    expect(await sums.data()).toEqual({ total: 0 });
    await db.transact((tx) => tx.set(orders.total, "a", 1));
    expect(await sums.data()).toEqual({ total: 1 });
    const first = (await changes.next())!;
    expect(JSON.parse(first.data!)).toMatchObject([{ row: "a", value: 1 }]);
    await changes.cancel();
    await db.transact((tx) => tx.set(orders.total, "b", 2));
    const again = new Blocks(await fetch(`${server.url}feed`, { headers: { "last-event-id": first.id! } }));
    expect(await again.data()).toMatchObject([{ row: "b", value: 2 }]);
    expect(await sums.data()).toEqual({ total: 3 });
    for (const each of [sums, again]) await each.cancel();
  });

  test("a client that goes away ends its query at once", async () => {
    const db = new FakeLive();
    await using server = await serve(listenerOf((request) => liveResponse(db, () => "value", request)));
    const responses = await Promise.all(Array.from({ length: 20 }, () => fetch(server.url)));
    const all = responses.map((response) => new Blocks(response));
    for (const blocks of all) expect(await blocks.data()).toBe("value");
    expect(db.open).toBe(20);
    await Promise.all(all.slice(5).map((blocks) => blocks.cancel()));
    expect(await until(() => db.open === 5)).toBe(true);
    await server.close();
    expect(await until(() => db.open === 0)).toBe(true);
  });

  test("a client that takes nothing is cut off: its query ends, and its connection is closed", async () => {
    const db = new FakeLive();
    const clock = new TestClock();
    const environment = clock.process();
    // Hono prints why it destroys a connection.
    const printed = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const big = "x".repeat(500_000);
    let value = 0;
    const query = () => `${big}${value++}`;
    await using server = await serve(
      listenerOf((request) => liveResponse(db, query, request, { environment, slowMs: 10_000 })),
    );
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    socket.pause();
    // Until the buffers of both ends are full, the query runs for each change.
    let runs = -1;
    while (runs !== db.runs || db.runs === 0) {
      runs = db.runs;
      for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
      db.change();
    }
    expect(db.open).toBe(1);
    await clock.advance(9_999);
    expect(db.open).toBe(1);
    await clock.advance(1);
    expect(await until(() => db.open === 0)).toBe(true);
    let connections = 1;
    while (connections > 0) connections = await server.connections();
    socket.destroy();
    printed.mockRestore();
  });

  test("passes the address and headers of the request on", async () => {
    let seen: readonly string[] = [];
    await using server = await serve(
      listenerOf((request) => {
        seen = [request.method, new URL(request.url).search, request.headers.get("x-one") ?? ""];
        return new Response("made", {
          status: 201,
          headers: [
            ["set-cookie", "a=1"],
            ["set-cookie", "b=2"],
          ],
        });
      }),
    );
    const response = await fetch(`${server.url}path?a=%20b`, { method: "DELETE", headers: { "x-one": "1" } });
    expect([response.status, await response.text()]).toEqual([201, "made"]);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(seen).toEqual(["DELETE", "?a=%20b", "1"]);
  });
});

describe("toNode", () => {
  test("a method that a `Request` cannot have is refused, and is no error of the program", async () => {
    const next = vi.fn();
    await using server = await serve((incoming, outgoing) =>
      toNode(() => new Response("traced"))(incoming, outgoing, next),
    );
    const traced = request(server.url, { method: "TRACE" }).end();
    const [answer] = (await once(traced, "response")) as [IncomingMessage];
    expect([answer.resume().statusCode, next.mock.calls]).toEqual([501, []]);
  });

  test("answers 500 without the message if the function throws, and gives Express the error", async () => {
    const fail = () => {
      throw new Error("the key is hunter2");
    };
    await using server = await serve(toNode(fail));
    const response = await fetch(server.url);
    expect([response.status, await response.text()]).toEqual([500, ""]);
    await using express = await serve((request, response_) =>
      toNode(fail)(request, response_, (error) => response_.end(String(error))),
    );
    expect(await (await fetch(express.url)).text()).toBe("Error: the key is hunter2");
  });

  test.each([
    ["//evil.example/path", "localhost:1", "http://localhost:1//evil.example/path"],
    ["*", "localhost:1", "http://localhost:1/"],
    ["http://evil.example/path", "localhost:1", "http://localhost:1/"],
    ["/path", "a b/../c", "http://localhost/path"],
  ])("takes only the path of a request target: %s at %s", async (target, host, url) => {
    let seen = "";
    await using server = await serve(
      toNode((request) => {
        seen = request.url;
        return new Response(null, { status: 204 });
      }),
    );
    const socket = connect(server.port, "127.0.0.1");
    socket.write(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    socket.resume();
    await once(socket, "end");
    socket.destroy();
    expect(seen).toBe(url);
  });
});

describe("sendResponse", () => {
  test("cancels the body if the client went away before, and ends the connection if the body fails", async () => {
    let cancelled = 0;
    let fails = false;
    const body = () =>
      new ReadableStream({
        pull: (controller) => {
          if (fails) controller.error(new Error("broken"));
          else controller.enqueue(new TextEncoder().encode("part"));
        },
        cancel: () => {
          cancelled++;
        },
      });
    await using server = await serve((_, response) => {
      if (!fails) response.destroy();
      void sendResponse(new Response(body()), response);
    });
    await expect(fetch(server.url)).rejects.toThrow();
    expect(cancelled).toBe(1);
    fails = true;
    const response = await fetch(server.url).catch(() => undefined);
    await expect(
      Promise.resolve(response?.text()).then((text) => text ?? Promise.reject(new Error("none"))),
    ).rejects.toThrow();
    expect(cancelled).toBe(1);
  });

  test("sends the headers before the first part of the body, and cancels it when the client goes away", async () => {
    let isCancelled = false;
    const body = new ReadableStream({
      cancel: () => {
        isCancelled = true;
      },
    });
    await using server = await serve((_, response) => void sendResponse(new Response(body), response));
    const leaving = new AbortController();
    const response = await fetch(server.url, { signal: leaving.signal });
    expect([response.status, isCancelled]).toEqual([200, false]);
    leaving.abort();
    expect(await until(() => isCancelled)).toBe(true);
  });

  test("works over HTTP/2", async () => {
    const db = new FakeLive();
    const server = createServer(toNode((request) => liveResponse(db, () => "value", request)) as never);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const stream = session.request({ ":path": "/" });
    stream.setEncoding("utf8");
    let text = "";
    stream.on("data", (chunk: string) => {
      text += chunk;
    });
    expect(await until(() => text.includes('data: "value"'))).toBe(true);
    expect(db.open).toBe(1);
    stream.close();
    expect(await until(() => db.open === 0)).toBe(true);
    session.destroy();
    server.close();
  });
});
