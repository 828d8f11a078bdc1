import { constants, gunzipSync } from "node:zlib";
import { type LiveResponseOptions, liveResponse } from "percolatordb/live";
import { TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { FakeLive } from "./support/fake-live.js";

const query = () => "value";

async function answer(
  options: LiveResponseOptions,
  {
    method = "GET",
    headers = {},
  }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
) {
  const db = new FakeLive();
  const errors: unknown[] = [];
  const request = new Request("http://localhost/", { method, headers });
  const response = await liveResponse(db, query, request, {
    onError: (error) => errors.push(error),
    ...options,
  });
  const text = response.headers.get("content-type")?.startsWith("application/json")
    ? await response.text()
    : "";
  if (text === "") await response.body?.cancel();
  return { status: response.status, headers: response.headers, text, errors, runs: db.runs };
}

describe("methods", () => {
  test.each(["POST", "HEAD", "PUT", "DELETE", "OPTIONS"])("%s is refused", async (method) => {
    const { status, headers, text } = await answer({}, { method });
    expect([status, headers.get("allow"), JSON.parse(text)]).toEqual([
      405,
      "GET",
      { code: "METHOD", message: "Live values are read with GET." },
    ]);
  });
});

describe("authorize", () => {
  test("allows with true, and is asked before anything is read", async () => {
    let asked = "";
    const { status } = await answer(
      {
        authorize: async (request) => {
          asked = request.headers.get("authorization") ?? "";
          return true;
        },
      },
      { headers: { authorization: "Bearer a" } },
    );
    expect([status, asked]).toEqual([200, "Bearer a"]);
  });

  test.each([false, undefined, null, "yes", 1])("refuses with %j", async (given) => {
    const { status, text, runs, errors } = await answer({ authorize: () => given as boolean });
    expect([status, JSON.parse(text), runs, errors]).toEqual([
      403,
      { code: "FORBIDDEN", message: "You may not read this." },
      0,
      [],
    ]);
  });

  test("gives the client the response that it returns", async () => {
    const { status, headers } = await answer({
      authorize: () => new Response(null, { status: 302, headers: { location: "/login" } }),
    });
    expect([status, headers.get("location")]).toEqual([302, "/login"]);
  });

  test("answers 500 without the message if it throws", async () => {
    const error = new Error("the key is hunter2");
    const { status, text, errors } = await answer({
      authorize: () => {
        throw error;
      },
    });
    expect([status, JSON.parse(text), errors]).toEqual([
      500,
      { code: "INTERNAL", message: "The server could not decide whether you may read this." },
      [error],
    ]);
  });
});

describe("CORS", () => {
  const origins = ["https://a.example", "http://localhost:5173"];
  const from = (origin: string) => ({ headers: { origin } });
  const ask = (origin: string) => ({
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "GET",
      "access-control-request-headers": "last-event-id",
    },
  });
  const allowed = (headers: Headers) => headers.get("access-control-allow-origin");

  test("is not there unless asked for", async () => {
    expect(allowed((await answer({}, from("https://a.example"))).headers)).toBeNull();
    expect((await answer({}, ask("https://a.example"))).status).toBe(405);
  });

  test("lets only the named origins read, refusals too", async () => {
    const { headers } = await answer({ cors: { origins } }, from("https://a.example"));
    expect([allowed(headers), headers.get("vary")]).toEqual(["https://a.example", "origin"]);
    expect(headers.has("access-control-allow-credentials")).toBe(false);
    const other = await answer({ cors: { origins } }, from("https://b.example"));
    expect([allowed(other.headers), other.headers.get("vary")]).toEqual([null, "origin"]);
    const refused = await answer({ cors: { origins }, authorize: () => false }, from("https://a.example"));
    expect([refused.status, allowed(refused.headers)]).toEqual([403, "https://a.example"]);
  });

  test("lets them read the response of authorize, and when to come again", async () => {
    const authorize = () => new Response("Log in.", { status: 401, headers: { vary: "cookie" } });
    const { status, headers } = await answer({ cors: { origins }, authorize }, from("https://a.example"));
    expect([status, allowed(headers), headers.get("vary")]).toEqual([
      401,
      "https://a.example",
      "cookie, origin",
    ]);
    expect(headers.get("access-control-expose-headers")).toBe("retry-after");

    const moved = () => Response.redirect("https://login.example/");
    const redirect = await answer({ cors: { origins }, authorize: moved }, from("https://a.example"));
    expect([redirect.status, allowed(redirect.headers)]).toEqual([302, "https://a.example"]);

    const own = () => new Response(null, { headers: { "access-control-allow-origin": "*" } });
    const kept = await answer({ cors: { origins }, authorize: own }, from("https://a.example"));
    expect(allowed(kept.headers)).toBe("*");
  });

  test("lets all origins read with *", async () => {
    expect(allowed((await answer({ cors: { origins: "*" } }, from("https://c.example"))).headers)).toBe("*");
  });

  test("answers the preflight", async () => {
    const cors = { origins, credentials: true, headers: ["x-tenant"] };
    const { status, headers, runs } = await answer(
      { cors, authorize: () => false },
      ask("http://localhost:5173"),
    );
    expect([status, runs]).toEqual([204, 0]);
    expect(Object.fromEntries(headers)).toEqual({
      vary: "origin",
      "access-control-allow-origin": "http://localhost:5173",
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": "GET",
      "access-control-allow-headers": "authorization, cache-control, last-event-id, x-tenant",
      "access-control-expose-headers": "retry-after",
      "access-control-max-age": "600",
    });
    const other = await answer({ cors }, ask("https://b.example"));
    expect([other.status, allowed(other.headers)]).toEqual([403, null]);
    expect((await answer({ cors }, { method: "OPTIONS" })).status).toBe(405);
  });
});

describe("gzip", () => {
  const accept = (value: string) => ({ headers: { "accept-encoding": value } });

  test.each([
    [false, "gzip", null],
    [true, "gzip, deflate, br", "gzip"],
    [true, "br;q=1, GZIP;q=0.5", "gzip"],
    [true, "*", "gzip"],
    [true, "gzip;q=0", null],
    [true, "gzip;q=0.0", null],
    [true, "br", null],
    [true, "", null],
    [true, "xgzip", null],
  ])("with gzip: %j, a client that accepts %j gets %j", async (gzip, accepted, encoding) => {
    const { headers } = await answer({ gzip }, accept(accepted));
    expect(headers.get("content-encoding")).toBe(encoding);
  });

  test("every event and heartbeat can be read when it arrives", async () => {
    const db = new FakeLive();
    const clock = new TestClock();
    const environment = clock.process();
    const asked = new Request("http://localhost/", accept("gzip"));
    let value = "first";
    const response = await liveResponse(db, () => value, asked, {
      gzip: true,
      environment,
      heartbeatMs: 1_000,
    });
    const reader = response.body!.getReader();
    let bytes = Buffer.alloc(0);
    const readable = () =>
      bytes.length === 0 ? "" : gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
    const read = async () => {
      const { done, value: chunk } = await reader.read();
      if (!done) bytes = Buffer.concat([bytes, chunk]);
      return done;
    };
    while (!readable().includes('data: "first"\n\n')) await read();
    const next = read();
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1_000);
    await next;
    expect(readable()).toMatch(/\n\n:\n\n$/);
    value = "second";
    db.change();
    await read();
    expect(readable()).toMatch(/data: "second"\n\n$/);
    db.close();
    while (!(await read()));
    // Without `finishFlush`, an incomplete stream is refused.
    expect(gunzipSync(bytes).toString()).toMatch(
      /event: error\ndata: \{"code":"CLOSED","isFinal":false\}\n\n$/,
    );
    expect(db.open).toBe(0);
  });
});
