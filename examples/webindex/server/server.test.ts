import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { crawl, page } from "../testing/site.js";
import { WebIndex } from "../webindex.js";
import { html } from "./html.js";
import { SearchServer } from "./server.js";

const bold = "https://example.org/bold";

describe("the search server", () => {
  let index: WebIndex;
  let server: SearchServer;
  const errors: unknown[] = [];
  const nothingWaits = async () => 0;
  let waiting: (signal: AbortSignal) => Promise<number> = nothingWaits;

  beforeAll(async () => {
    index = await WebIndex.open("memory:");
    await crawl(index, {
      "https://example.org/": page("Start", "walrus & <b>otter</b>", { [bold]: "bold" }),
      [bold]: page("&lt;script&gt;alert(1)&lt;/script&gt;", "walrus &lt;img src=x&gt; badger"),
      "npm:/walrus/README.md": page("Package", "marmot"),
    });
    server = await SearchServer.start(index.db, {
      host: "127.0.0.1",
      port: 0,
      loading: () => undefined,
      waiting: (signal) => waiting(signal),
      atOnce: 2,
      maxWaiting: 1,
      deadlineMs: 60_000,
      onError: (error) => errors.push(error),
    });
  });

  afterEach(() => {
    waiting = nothingWaits;
    vi.restoreAllMocks();
  });

  afterAll(async () => {
    await server.stop();
    await index.close();
    expect(errors).toEqual([]);
  });

  const get = (path: string, init?: RequestInit) => fetch(new URL(path, server.url), init);

  it("has a start page with a form, no scripts and no external resources", async () => {
    const response = await get("/");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = response.headers.get("content-security-policy")!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    const body = await response.text();
    expect(body).toContain('<form action="/search"');
    expect(body).toContain("3 pages");
    expect(body).not.toMatch(/<script|src=|https?:/);
  });

  it("shows the results, with the words marked and everything escaped", async () => {
    const body = await (await get("/search?q=Walrus")).text();
    expect(body).toContain("2 pages found");
    expect(body).toContain("<mark>walrus</mark>");
    expect(body).toContain("&#60;script&#62;");
    const [before, after, ...more] = body.split('<script type="module">');
    expect(more).toEqual([]);
    const script = after!.slice(0, after!.indexOf("</script>"));
    expect(before + after!.slice(script.length)).not.toMatch(/<script|<img|<b>/);
    expect(body).toContain(`href="${bold}"`);
  });

  it("allows its own script on a page of results, and no script elsewhere", async () => {
    const policyOf = async (path: string) => {
      const response = await get(path);
      return { policy: response.headers.get("content-security-policy")!, body: await response.text() };
    };
    const { policy, body } = await policyOf("/search?q=walrus");
    const script = /<script type="module">(.*?)<\/script>/s.exec(body)![1]!;
    const hash = createHash("sha256").update(script).digest("base64");
    expect(policy).toContain(`; script-src 'sha256-${hash}'; connect-src 'self'`);
    expect(policy).not.toContain("unsafe");
    for (const path of ["/", "/search?q=", "/search?q=%2B", `/search?q=x&limit=0`, `/page?url=${bold}`]) {
      const other = await policyOf(path);
      expect(other.policy).toContain("default-src 'none'");
      expect(other.policy).not.toMatch(/script-src|connect-src/);
      expect(other.body).not.toContain("<script");
    }
  });

  it("sends the results of a live search, and refuses what the page of results refuses", async () => {
    const client = new AbortController();
    const response = await get("/api/search/live?q=walrus", { signal: client.signal });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    // Otherwise the server, when it stops, waits for the client's idle connection.
    expect(response.headers.get("connection")).toBe("close");
    let told = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      told += chunk;
      if (told.includes("2 pages found.")) break;
    }
    client.abort();
    const refused = await get("/api/search/live?q=walrus&limit=0");
    expect(refused.status).toBe(400);
    expect(await refused.json()).toHaveProperty("error");
    expect((await get("/api/search/live?q=walrus", { method: "POST" })).status).toBe(405);
    // A `Request` cannot have the method TRACE, and so `fetch` cannot send it.
    const traced = request(new URL("/api/search/live?q=walrus", server.url), { method: "TRACE" }).end();
    const [answer] = (await once(traced, "response")) as [IncomingMessage];
    expect(answer.resume().statusCode).toBe(405);
  });

  it("escapes the query, and reports that nothing was found", async () => {
    const body = await (await get(`/search?q=${encodeURIComponent('"><scripted')}`)).text();
    expect(body).toContain("Nothing was found");
    expect(body).not.toContain("<scripted");
    expect(await (await get("/search?q=")).text()).toContain("Type one word");
    expect(await (await get("/search?q=%2B%2B")).text()).toContain("There is no word");
  });

  it("gives the same answers as JSON", async () => {
    const response = await get("/api/search?q=badger+walrus&limit=1");
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    const found = (await response.json()) as { total: number; results: { url: string; rank: number }[] };
    expect(found).toMatchObject({ query: "badger walrus", terms: ["badger", "walrus"], total: 2 });
    expect(found.results).toHaveLength(1);
    expect(found.results[0]).toMatchObject({ url: bold, rank: 1, duplicates: 0 });
  });

  it.each(["0", "101", "x", "1.5", ""])("refuses a limit of %j", async (limit) => {
    const response = await get(`/api/search?q=walrus&limit=${limit}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toHaveProperty("error");
  });

  it.each(["offset=-1", "offset=901", "offset=x", "after=x", "after=1", "after=NaN%20x"])(
    "refuses %s",
    async (parameter) => {
      const response = await get(`/api/search?q=walrus&${parameter}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toHaveProperty("error");
    },
  );

  it("gives the next results by an offset, and after the last result", async () => {
    const read = async (parameters: string) =>
      (await (await get(`/api/search?q=walrus&limit=1${parameters}`)).json()) as {
        next?: string;
        results: { url: string }[];
      };
    const first = await read("");
    expect(first.next).toBeDefined();
    const second = await read("&offset=1");
    expect(await read(`&after=${encodeURIComponent(first.next!)}`)).toEqual(second);
    expect(second.next).toBeUndefined();
    expect(second.results[0]!.url).not.toBe(first.results[0]!.url);
    const page = await (await get("/search?q=walrus&limit=1")).text();
    expect(page).toContain('<a href="/search?q=walrus&#38;offset=1">Next</a>');
    const last = await (await get("/search?q=walrus&limit=1&offset=1")).text();
    expect(last).toContain('<ol start="2">');
    expect(last).toContain("Previous");
    expect(await (await get("/search?q=walrus&offset=5")).text()).toContain("no further results");
  });

  it("suggests a word for one that is unknown", async () => {
    const page = await (await get("/search?q=wlarus+badger")).text();
    expect(page).toContain('Did you mean <a href="/search?q=walrus%20badger">walrus badger</a>?');
    expect(await (await get("/search?q=qqqqqq")).text()).not.toContain("Did you mean");
  });

  it("shows the text of a page that a browser cannot open", async () => {
    const found = await (await get("/search?q=marmot")).text();
    const address = /href="(\/page\?url=npm[^"]+)"/.exec(found)?.[1];
    expect(address).toBeDefined();
    expect(await (await get(address!)).text()).toContain("marmot");
    expect((await get("/page?url=https://example.org/absent")).status).toBe(404);
    expect((await get("/page?url=%00")).status).toBe(404);
    expect((await get("/page")).status).toBe(404);
  });

  it("reports its own state", async () => {
    expect(await (await get("/api/status")).json()).toEqual({ pages: 3, waiting: 0 });
  });

  it("counts the backlog only if it is shown, and reads it once for each page", async () => {
    const counted = vi.fn(async () => 3);
    waiting = counted;
    const snapshot = vi.spyOn(index.db, "snapshot");
    expect(await (await get("/search?q=walrus")).text()).toContain("2 pages found");
    expect(snapshot.mock.calls.length).toBeLessThanOrEqual(1);
    expect((await get("/")).status).toBe(200);
    expect(counted).not.toHaveBeenCalled();
    expect(await (await get("/api/status")).json()).toEqual({ pages: 3, waiting: 3 });
  });

  it("answers a limited number of requests at a time, lets further ones wait, and refuses those beyond the line", async () => {
    const release: (() => void)[] = [];
    const bothAsked = new Promise<void>((resolve) => {
      waiting = () =>
        new Promise((answer) => {
          release.push(() => answer(7));
          if (release.length === 2) resolve();
        });
    });
    const both = Promise.all([get("/api/status"), get("/api/status")]);
    await bothAsked;
    const patient = get("/api/search?q=walrus");
    // Only the third request waits. It may arrive after the fourth, which then is the one that waits.
    const fourth = get("/api/search?q=walrus");
    const refused = await Promise.race([patient, fourth]);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await refused.json()).toHaveProperty("error");
    for (const each of release) each();
    for (const each of await both) expect(await each.json()).toMatchObject({ waiting: 7 });
    const statuses = (await Promise.all([patient, fourth])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 503]);
  });

  it("stops working on aborted requests", async () => {
    const client = new AbortController();
    let isAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const givenUp = new Promise<void>((resolve) => {
      waiting = (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            reject(signal.reason);
            resolve();
          });
          isAsked();
        });
    });
    const request = get("/api/status", { signal: client.signal });
    await asked;
    client.abort();
    await expect(request).rejects.toThrow();
    await givenUp;
  });

  it("serves the dashboard on the same port", async () => {
    expect(server.dashboardUrl).toBe(new URL("/dashboard/", server.url).href);
    const response = await get("/dashboard/api/pipeline");
    const { observers, tables } = (await response.json()) as Record<
      "observers" | "tables",
      { name: string }[]
    >;
    expect(observers.map(({ name }) => name)).toContain("extract");
    expect(tables.map(({ name }) => name)).toContain("documents");
    expect((await get("/dashboard/api/parked/retry", { method: "POST" })).status).toBe(403);
  });

  it("refuses unknown requests", async () => {
    expect((await get("/nowhere")).status).toBe(404);
    expect((await get("/api/nowhere")).status).toBe(404);
    const posted = await get("/search?q=x", { method: "POST" });
    expect(posted.status).toBe(405);
    expect(posted.headers.get("allow")).toBe("GET, HEAD");
    expect((await get(`/search?q=${"x".repeat(600)}`)).status).toBe(400);
    const head = await get("/search?q=walrus", { method: "HEAD" });
    expect(head.status).toBe(200);
    expect(await head.text()).toBe("");
  });
});

describe("the template of HTML", () => {
  it("escapes its values, except HTML that it made itself", () => {
    expect(html`<p class="${'"'}">${"<&'>"}${html`<b>`}${[1, undefined, "a"]}</p>`.source).toBe(
      '<p class="&#34;">&#60;&#38;&#39;&#62;<b>1a</p>',
    );
  });
});
