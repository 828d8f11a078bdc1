import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import type { About, Acted, Pipeline, Reach } from "../../src/dashboard/api/index.js";
import { failuresShown, heatMap, locksPage, parkedIds, retryingShown, workers } from "./failures.js";
import { flows, observers, overviewAt, pastAt, startedAt, tables } from "./pipeline.js";
import { cellHistory, inspectedRow, rowDetail, rowsPage } from "./rows.js";
import { conflictInsights, transactionAt, transactionDetail, transactions } from "./transactions.js";

/**
 * A server that answers as the dashboard's server does, for states that a real pipeline is seldom
 * in. The data are invented, and the same each time.
 */

export type Scenario =
  /** Data of every kind, with something wrong in most of it. */
  | "busy"
  /** An empty database. */
  | "empty"
  /** A dashboard that no process reports to: it knows only the store, and no transactions. */
  | "store"
  /** Every request fails, except `api/about`. */
  | "failing";

export interface FixtureOptions {
  /** The folder of the built pages. */
  readonly pages: string;
  readonly scenario?: Scenario;
  readonly writable?: boolean;
}

export interface FixtureServer {
  /** Address of the pages. They are served under a base path. */
  readonly url: string;
  /** With true, ends all streams and refuses every request. With false, answers again. */
  cut(isCut: boolean): void;
  /** With true, sends nothing on any connection, as a process that is stopped. */
  mute(isMute: boolean): void;
  /** With true, ends the connection in the middle of the answer to an action. */
  breakActions(isBreaking: boolean): void;
  /** How many pages follow the stream. */
  readonly viewers: number;
  close(): Promise<void>;
}

const base = "/some/base/";
const tickMs = 1_000;
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Serves the pages and invented answers on loopback until it is closed. */
export async function serveFixture(options: FixtureOptions): Promise<FixtureServer> {
  const fixture = new Fixture(options);
  const server = createServer((request, response) => void fixture.answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const timer = setInterval(() => fixture.tick(), tickMs);
  const close = async () => {
    clearInterval(timer);
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`;
  return {
    url,
    close,
    cut: (isCut) => fixture.cut(isCut),
    mute: (isMute) => {
      fixture.isMute = isMute;
    },
    breakActions: (isBreaking) => {
      fixture.isBreaking = isBreaking;
    },
    get viewers() {
      return fixture.viewers;
    },
  };
}

class Fixture {
  readonly #pages: string;
  readonly #scenario: Scenario;
  readonly #writable: boolean;
  readonly #streams = new Set<ServerResponse>();
  /** Ids of retried, discarded or resolved items. */
  readonly #gone = new Set<string>();
  #tick = 0;
  #newest = 400;
  #isCut = false;
  isMute = false;
  isBreaking = false;

  constructor({ pages, scenario = "busy", writable = false }: FixtureOptions) {
    this.#pages = pages;
    this.#scenario = scenario;
    this.#writable = writable;
  }

  cut(isCut: boolean): void {
    this.#isCut = isCut;
    if (!isCut) return;
    for (const stream of this.#streams) stream.destroy();
    this.#streams.clear();
  }

  get viewers(): number {
    return this.#streams.size;
  }

  tick(): void {
    if (this.isMute) return;
    this.#tick++;
    for (const stream of this.#streams) this.#send(stream);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    if (this.#isCut) return void response.destroy();
    if (this.isMute) return;
    if (!pathname.startsWith(base))
      return json(response, 404, { code: "NOT_FOUND", message: "Nothing is here." });
    const path = pathname.slice(base.length);
    if (path === "api/stream") return this.#stream(response);
    if (path.startsWith("api/")) return this.#api(request, response, path.slice("api/".length), searchParams);
    await this.#page(response, path === "" ? "index.html" : path);
  }

  async #page(response: ServerResponse, path: string): Promise<void> {
    try {
      const content = await readFile(join(this.#pages, normalize(`/${path}`)));
      response.writeHead(200, {
        "content-type": types[extname(path)] ?? "application/octet-stream",
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
      });
      response.end(content);
    } catch {
      response.writeHead(404).end();
    }
  }

  async #api(
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    query: URLSearchParams,
  ): Promise<void> {
    if (this.#scenario === "failing" && name !== "about")
      return json(response, 503, {
        code: "STORE",
        message: "The store at ./data does not answer: it was closed.",
      });
    if (request.method === "POST" && this.isBreaking) {
      response.writeHead(200, { "content-type": "application/x-ndjson" });
      response.write(`${JSON.stringify({ done: 3, gone: 0, standing: 0 })}\n`);
      return void setTimeout(() => response.destroy(), 50);
    }
    if (request.method === "POST")
      return json(response, 200, { ...this.#act(name, await bodyOf(request)), ended: true });
    const found = this.#get(name, query);
    if (found === undefined)
      return json(response, 404, { code: "NOT_FOUND", message: "It is not remembered any more." });
    json(response, 200, found);
  }

  #get(name: string, query: URLSearchParams): unknown {
    const [reach, isEmpty] = [this.#reach, this.#scenario === "empty"];
    switch (name) {
      case "about":
        return this.#about();
      case "overview":
        return this.#overview();
      case "past":
        return query.has("after")
          ? { everyMs: 10_000, moments: [], keptIn: "memory" }
          : pastAt(reach, isEmpty ? [] : observers);
      case "pipeline":
        return this.#pipeline();
      case "rows":
        return isEmpty ? { ...rowsPage(query), rows: [], next: undefined } : rowsPage(query);
      case "row":
        return rowDetail(query);
      case "history":
        return cellHistory(query);
      case "inspect":
        return inspectedRow(query);
      case "transactions":
        return isEmpty || reach === "store" ? [] : transactions(query, this.#newest);
      case "transaction":
        return transactionDetail(query.get("id") ?? "");
      case "conflicts":
        return isEmpty || reach === "store"
          ? { reach, sinceMs: 600_000, pairs: [], columns: [] }
          : conflictInsights();
      case "failures":
        return isEmpty
          ? { groups: [], total: { count: 0, isBound: false }, others: 0 }
          : failuresShown(query, this.#gone);
      case "retrying":
        return isEmpty
          ? { groups: [], total: { count: 0, isBound: false }, others: 0 }
          : retryingShown(query);
      case "locks":
        return isEmpty ? { locks: [] } : locksPage(this.#gone);
      case "workers":
        return workers(reach, isEmpty);
      case "heat":
        return heatMap(query, reach, isEmpty || reach === "store");
    }
    return undefined;
  }

  get #reach(): Reach {
    return this.#scenario === "store" ? "store" : "here";
  }

  #about(): About {
    return {
      version: "0.1.0",
      location: "./data",
      store: "lmdb",
      commit: "two-phase",
      retentionMs: 3_600_000,
      writable: this.#writable,
      reach: this.#reach,
      now: startedAt,
    };
  }

  #overview() {
    return overviewAt(this.#tick, this.#reach, this.#scenario === "empty" ? [] : observers);
  }

  #pipeline(): Pipeline {
    const reach = this.#reach;
    if (this.#scenario === "empty") return { reach, tables: [], observers: [], flows: [] };
    return { reach, tables, observers, flows: reach === "store" ? [] : flows };
  }

  #act(name: string, body: Readonly<Record<string, string>>): Acted {
    const ids = body.id === undefined ? parkedIds(body) : [body.id];
    const fresh = ids.filter((id) => !this.#gone.has(id));
    if (name === "locks/resolve" && body.id === "l3") return { done: 0, gone: 0, standing: 1 };
    for (const id of fresh) this.#gone.add(id);
    return { done: fresh.length, gone: ids.length - fresh.length, standing: 0 };
  }

  #stream(response: ServerResponse): void {
    if (this.#scenario === "failing")
      return void json(response, 503, { code: "STORE", message: "The store does not answer." });
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    this.#streams.add(response);
    response.on("close", () => this.#streams.delete(response));
    this.#send(response);
  }

  #send(stream: ServerResponse): void {
    stream.write(`event: overview\ndata: ${JSON.stringify(this.#overview())}\n\n`);
    if (this.#scenario !== "busy") return;
    const came = Array.from({ length: 5 }, (_, index) => transactionAt(this.#newest + index + 1));
    this.#newest += came.length;
    stream.write(`event: transactions\ndata: ${JSON.stringify(came)}\n\n`);
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(body)}\n`);
}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, string>>> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as Readonly<Record<string, string>>;
}
