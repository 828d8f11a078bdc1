import { mkdir, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { type Database, open } from "percolatordb";
import { dashboardHandler, serveDashboard } from "percolatordb/dashboard";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Workers } from "../../src/dashboard/api/index.js";
import { temporaryFolder } from "../support/databases.js";
import { ask, observers, pages, served, tables } from "./pipeline.js";

const token = "a-token-of-enough-characters";
const bearer = { authorization: `Bearer ${token}` };

let db: Database;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder.path, "assets"));
  await writeFile(join(folder.path, "index.html"), "<!doctype html><title>Percolator</title>");
  await writeFile(join(folder.path, "assets/app-1a2b.js"), "export {};");
  db = await open("memory:", { tables, observers, collectEveryMs: 0 });
  await db.transact((tx) => tx.set(pages.body, "a", "bad"));
  await db.drain();
});

afterAll(async () => {
  await db.close();
  await folder.remove();
});

describe("the server", () => {
  test("answers the right methods, with strict headers, and caches only the built files", async () => {
    await using dashboard = await served(db, { pages: `${folder.path}/` });
    const index = await ask(dashboard.url);
    expect(index).toMatchObject({ status: 200, text: "<!doctype html><title>Percolator</title>" });
    expect(index.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "same-origin",
    });
    const policy = index.headers["content-security-policy"]!;
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    const again = await ask(dashboard.url, { headers: { "if-none-match": index.headers.etag! } });
    expect([again.status, again.text]).toEqual([304, ""]);
    const script = await ask(new URL("assets/app-1a2b.js", dashboard.url));
    expect(script.headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(script.headers["cache-control"]).toContain("immutable");
    const api = await ask(new URL("api/overview", dashboard.url));
    expect(api.headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    for (const path of ["nothing", "..%2f..%2fpackage.json", "assets/", "%00", "assets"]) {
      expect((await ask(`${dashboard.url}${path}`)).status).toBe(404);
    }
    const head = await ask(new URL("api/about", dashboard.url), { method: "HEAD" });
    expect([head.status, head.text]).toEqual([200, ""]);
    const posted = await dashboard.post("about", {});
    expect([posted.status, posted.headers.allow]).toEqual([405, "GET, HEAD"]);
    const got = await ask(new URL("api/parked/retry", dashboard.url));
    expect([got.status, got.headers.allow]).toEqual([405, "POST"]);
    expect((await ask(dashboard.url, { method: "PUT" })).status).toBe(405);
    expect((await ask(new URL("metrics", dashboard.url))).text).toContain("percolator_commits_total");
    expect((await ask(new URL("healthz", dashboard.url))).text).toBe("ok\n");
  });

  test("explains how to build the pages if they are missing", async () => {
    await using dashboard = await served(db, { pages: join(folder.path, "assets/") });
    const { status, text } = await ask(dashboard.url);
    expect(status).toBe(503);
    expect(text).toContain("npm run build");
    expect(text).not.toContain("<script");
  });

  test("needs a valid token to listen beyond this machine", async () => {
    await expect(serveDashboard(db, { host: "0.0.0.0" })).rejects.toThrow(
      "can be reached from other machines",
    );
    await expect(serveDashboard(db, { token: "short" })).rejects.toThrow("at least 16 characters");
    await expect(serveDashboard(db, { token: "has spaces in it, and so is none" })).rejects.toThrow("ASCII");
    await expect(serveDashboard(db, { from: ["ftp://host"] })).rejects.toThrow(
      "is not the address of a dashboard",
    );
    await using dashboard = await served(db, { host: "0.0.0.0", token });
    expect((await ask(dashboard.url.replace("0.0.0.0", "127.0.0.1"))).status).toBe(401);
  });

  test("gets a named error if the address is in use", async () => {
    await using dashboard = await served(db);
    const port = Number(new URL(dashboard.url).port);
    await expect(serveDashboard(db, { port })).rejects.toThrow(
      `The dashboard cannot be served at 127.0.0.1:${port}`,
    );
  });
});

describe("a token", () => {
  test("is required everywhere except at /healthz", async () => {
    await using dashboard = await served(db, { token });
    for (const path of ["api/about", "api/stream", "api/nothing", "metrics", "", "assets/app.js"]) {
      expect([path, (await ask(`${dashboard.url}${path}`)).status]).toEqual([path, 401]);
    }
    const page = await ask(dashboard.url);
    expect(page.headers["content-type"]).toContain("text/html");
    expect(page.text).toContain('name="token"');
    expect((await ask(`${dashboard.url}healthz`)).status).toBe(200);
    expect((await ask(`${dashboard.url}api/about`, { headers: bearer })).status).toBe(200);
    expect((await ask(`${dashboard.url}metrics`, { headers: bearer })).status).toBe(200);
    const wrong = { authorization: `Bearer ${token}x` };
    const refused = await ask(`${dashboard.url}api/about`, { headers: wrong });
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([401, { code: "UNAUTHORIZED" }]);
  });

  test("in the address becomes a cookie, and is removed from the address", async () => {
    await using dashboard = await served(db, { token });
    const opened = await ask(`${dashboard.url}?token=${token}&more=1`);
    expect([opened.status, opened.headers.location]).toEqual([303, "/?more=1"]);
    const [set] = opened.headers["set-cookie"]!;
    expect(set).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(set).not.toContain(token);
    const cookie = set!.split(";")[0]!;
    expect(
      (await ask(`${dashboard.url}api/about`, { headers: { cookie: `other=1; ${cookie}` } })).status,
    ).toBe(200);
    expect((await ask(`${dashboard.url}api/about`, { headers: { cookie: `${cookie}x` } })).status).toBe(401);
    const wrong = await ask(`${dashboard.url}?token=${token}x`);
    expect([wrong.status, wrong.headers["set-cookie"]]).toEqual([303, undefined]);
  });
});

test("a changed token invalidates the previous one, and its cookies", async () => {
  let current = token;
  await using dashboard = await served(db, { token: () => current });
  await using named = await served(db, { from: [dashboard.url], fromToken: () => current, sources: [] });
  const about = async (headers: Record<string, string>) =>
    (await ask(`${dashboard.url}api/about`, { headers })).status;
  const enter = async () =>
    (await ask(`${dashboard.url}?token=${current}`)).headers["set-cookie"]![0]!.split(";")[0]!;
  const unheard = async () => (await named.get<Workers>("workers")).unheard;
  const cookie = await enter();
  expect([await about(bearer), await about({ cookie })]).toEqual([200, 200]);
  const heard = await unheard();
  expect(JSON.stringify(heard ?? [])).not.toContain("401");
  current = "another-token-of-enough-characters";
  expect([await about(bearer), await about({ cookie })]).toEqual([401, 401]);
  expect([
    await about({ authorization: `Bearer ${current}` }),
    await about({ cookie: await enter() }),
  ]).toEqual([200, 200]);
  expect(await unheard()).toEqual(heard);
});

describe("pages of other sites", () => {
  test("are refused by the Host header, even if their name resolves to this machine", async () => {
    await using dashboard = await served(db, { hosts: ["dash.example.org"] });
    const at = async (host: string) => {
      return (await ask(`${dashboard.url}api/about`, { headers: { host } })).status;
    };
    expect(await at("evil.example.org")).toBe(421);
    expect(await at("127.0.0.1.evil.example.org:80")).toBe(421);
    expect(await at("evil.example.org@127.0.0.1")).toBe(421);
    expect(await at("localhost:9999")).toBe(200);
    expect(await at("[::1]:80")).toBe(200);
    expect(await at("dash.example.org")).toBe(200);
  });

  test("cannot ask for anything, so that they use up no viewers and no requests", async () => {
    await using dashboard = await served(db);
    const { origin } = new URL(dashboard.url);
    const foreign = [
      { origin: "https://evil.example.org" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ];
    for (const headers of foreign) {
      for (const path of ["api/overview", "api/stream", "api/row/live?table=pages&row=a"]) {
        const { status, text } = await ask(new URL(path, dashboard.url), { headers });
        expect([status, JSON.parse(text)]).toMatchObject([403, { code: "ORIGIN" }]);
      }
    }
    for (const headers of [{}, { "sec-fetch-site": "same-origin" }, { "sec-fetch-site": "none", origin }]) {
      expect((await ask(new URL("api/overview", dashboard.url), { headers })).status).toBe(200);
    }
    const link = { headers: { "sec-fetch-site": "cross-site" } };
    expect((await ask(new URL("healthz", dashboard.url), link)).status).toBe(200);
  });

  test("cannot change anything", async () => {
    await using dashboard = await served(db, { writable: true });
    const { origin } = new URL(dashboard.url);
    const body = { observer: "checks" };
    const refused = await dashboard.post("parked/retry", body, { origin: "https://evil.example.org" });
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([403, { code: "ORIGIN" }]);
    expect((await dashboard.post("parked/retry", body, { origin: "null" })).status).toBe(403);
    expect((await dashboard.post("parked/retry", body, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await dashboard.post("parked/retry", "observer=checks", form)).status).toBe(415);
    const own = await dashboard.post("parked/retry", body, { origin, "sec-fetch-site": "same-origin" });
    expect(own.status).toBe(200);
    await db.drain();
  });
});

test("a read-only server changes nothing", async () => {
  await using dashboard = await served(db);
  for (const path of ["parked/retry", "parked/discard", "locks/resolve"]) {
    const { status, text } = await dashboard.post(path, { observer: "checks" });
    expect([status, JSON.parse(text)]).toMatchObject([403, { code: "READ_ONLY" }]);
  }
  const { parked } = await dashboard.get<{ parked: unknown[] }>("parked");
  expect(parked.length).toBe(1);
});

test("a request body is limited in size, and must be an object", async () => {
  await using dashboard = await served(db, { writable: true });
  const huge = await dashboard.post("parked/retry", { observer: "x".repeat(100_000) });
  expect([huge.status, JSON.parse(huge.text)]).toMatchObject([413, { code: "TOO_LARGE" }]);
  for (const body of ["", "[]", "null", "{", { observer: 1 }, {}, { id: "a", observer: "checks" }]) {
    expect((await dashboard.post("parked/retry", body)).status).toBe(400);
  }
  expect((await dashboard.post("report", { after: [1] })).status).toBe(400);
  expect((await dashboard.post("report", { heat: { table: "pages" } })).status).toBe(400);
});

test("a chunked body is limited, and refused before all of it was received", async () => {
  await using dashboard = await served(db, { writable: true });
  const send = (chunks: readonly string[]) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
      const sent = request(`${dashboard.url}api/report`, { method: "POST", headers, agent: false });
      sent.on("response", (response) => resolve(response.resume().statusCode));
      sent.on("error", reject);
      for (const chunk of chunks) sent.write(chunk);
      sent.end();
    });
  expect(await send(['{"who":', "[1]}"])).toBe(200);
  expect(
    await send([
      '{"who":"',
      ..."x"
        .repeat(20)
        .split("")
        .map((x) => x.repeat(10_000)),
      '"}',
    ]),
  ).toBe(413);
});

test("a request without a host, or with an invalid one, is refused", async () => {
  await using dashboard = await served(db);
  const statusOf = async (head: string) => {
    const socket = connect(Number(new URL(dashboard.url).port), "127.0.0.1");
    socket.write(`${head}\r\n\r\n`);
    const answer = await textOf(socket);
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
  };
  expect(await statusOf("GET /api/about HTTP/1.0")).toBe(421);
  expect(await statusOf("GET /api/about HTTP/1.0\r\nHost: exa<mple")).toBe(421);
  expect(await statusOf("GET /api/about HTTP/1.1\r\nConnection: close")).toBe(400);
  expect(await statusOf("GET // HTTP/1.0\r\nHost: localhost")).toBe(400);
  expect(await statusOf("GET /api/about HTTP/1.0\r\nHost: localhost")).toBe(200);
});

test("a handler can be mounted under any base, and ignores other paths", async () => {
  using dashboard = dashboardHandler(db, { base: "/dash/board", pages: `${folder.path}/` });
  const server = createServer((request, response) => {
    if (!dashboard.handle(request, response)) response.writeHead(418).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    expect(dashboard.base).toBe("/dash/board/");
    expect((await ask(`${url}/`)).status).toBe(418);
    expect((await ask(`${url}/dash/boards`)).status).toBe(418);
    const bare = await ask(`${url}/dash/board`);
    expect([bare.status, bare.headers.location]).toEqual([303, "/dash/board/"]);
    expect((await ask(`${url}/dash/board/`)).text).toContain("Percolator");
    expect((await ask(`${url}/dash/board/api/about`)).status).toBe(200);
    dashboard.close();
    expect((await ask(`${url}/dash/board/api/stream`)).status).toBe(503);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
  expect(() => dashboardHandler(db, { base: "dash" })).toThrow("`base` must be a path");
});

test("no redirect leads to another host", async () => {
  await using dashboard = await served(db);
  const { port } = new URL(dashboard.url);
  const raw = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), "127.0.0.1", () => {
      socket.write(
        "GET /..//evil.example.org/?token=x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      );
    });
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("error", reject).on("end", () => resolve(text));
  });
  expect(raw).toMatch(/^HTTP\/1\.1 303 /);
  expect(raw).toMatch(/^location: \/evil\.example\.org\/\r$/m);
});

test("a request is aborted when its client disconnects", async () => {
  await using dashboard = await served(db);
  const given: AbortSignal[] = [];
  const listing = vi.spyOn(db, "parked").mockImplementation(async function* ({ signal } = {}) {
    given.push(signal!);
    await new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
  });
  const going = new AbortController();
  const asked = fetch(`${dashboard.url}api/parked`, { signal: going.signal }).catch(
    (error: Error) => error.name,
  );
  await vi.waitFor(() => expect(given.length).toBe(1), 30_000);
  going.abort();
  expect(await asked).toBe("AbortError");
  await vi.waitFor(() => expect(given[0]?.aborted).toBe(true), 30_000);
  listing.mockRestore();
});

test("a closed database is reported, and the server ends cleanly", async () => {
  const other = await open("memory:", { tables });
  await using dashboard = await served(other);
  await other.close();
  const { status, text } = await ask(`${dashboard.url}api/rows?table=pages`);
  expect([status, JSON.parse(text)]).toMatchObject([503, { code: "CLOSED" }]);
});

test("the password of a location that a program gives is not shown", async () => {
  await using dashboard = await served(db, { location: "postgres://app:secret@host/shop" });
  const about = JSON.parse((await ask(new URL("api/about", dashboard.url))).text) as object;
  expect(about).toMatchObject({ location: "postgres://app@host/shop" });
});
