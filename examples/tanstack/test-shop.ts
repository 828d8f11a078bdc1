import { BasicIndex, type Collection, createCollection } from "@tanstack/db";
import { type Database, type OpenOptions, open } from "percolatordb";
import { type ItemOf, type PercolatorUtils, percolatorCollection } from "./collection.js";
import { type Server, serve, shopApp } from "./server.js";
import * as tables from "./tables.js";

/** Holds back the events of a feed, or its requests, as a slow network does. */
export class Gate {
  #opened = Promise.resolve();
  open: () => void = () => undefined;

  close(): void {
    this.#opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }

  async pass(): Promise<void> {
    await this.#opened;
  }
}

type Orders = Collection<ItemOf<typeof tables.orders>, string, PercolatorUtils>;
type Customers = Collection<ItemOf<typeof tables.customers>, string, PercolatorUtils>;

/** A shop with a server on loopback, and the collections of one browser. */
export class TestShop implements AsyncDisposable {
  readonly db: Database;
  readonly orders: Orders;
  readonly customers: Customers;
  /** What the server sends passes through it. */
  readonly gate = new Gate();
  /** The `Last-Event-ID` of each request for a feed. */
  readonly lastEventIds: (string | null)[] = [];
  /** The codes of the errors of both connections. */
  readonly errors: string[] = [];
  /** How many requests that write were answered. */
  answered = 0;
  /** How many feeds the server is sending. */
  sending = 0;
  #server: Server | undefined;
  #port = 0;

  private constructor(db: Database) {
    this.db = db;
    const common = {
      writeUrl: "/write",
      fetch: this.#fetch,
      onError: ({ code }: { code: string }) => void this.errors.push(code),
      // Connects again at once.
      environment: {
        random: () => 0,
        setTimer: (run: () => void, delayMs: number) => {
          const timer = setTimeout(run, delayMs);
          return { cancel: () => clearTimeout(timer) };
        },
      },
    };
    this.orders = createCollection(
      percolatorCollection<typeof tables.orders>({ ...common, url: "/feeds/orders", table: "orders" }),
    );
    // Joins look up the orders of a customer.
    this.orders.createIndex(({ customer }) => customer, { indexType: BasicIndex });
    this.customers = createCollection(
      percolatorCollection<typeof tables.customers>({
        ...common,
        url: "/feeds/customers",
        table: "customers",
      }),
    );
  }

  static async open(options: OpenOptions = {}): Promise<TestShop> {
    const feeds = [tables.customerFeed, tables.orderFeed];
    const shop = new TestShop(await open("memory:", { feeds, ...options }));
    await shop.startServer();
    return shop;
  }

  readonly #fetch: typeof fetch = async (path, request) => {
    const url = `http://127.0.0.1:${this.#port}${String(path)}`;
    if (request?.method === "POST") {
      const answer = await fetch(url, request);
      this.answered++;
      return answer;
    }
    this.lastEventIds.push(new Headers(request?.headers).get("last-event-id"));
    const { body, status, headers } = await fetch(url, request);
    const transform = async (chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>) => {
      await this.gate.pass();
      controller.enqueue(chunk);
    };
    const through = new TransformStream<Uint8Array, Uint8Array>({ transform });
    return new Response(body?.pipeThrough(through), { status, headers });
  };

  async addCustomer(row: string, name: string, city: string): Promise<void> {
    await this.db.transact((tx) => {
      tx.set(tables.customers.name, row, name);
      tx.set(tables.customers.city, row, city);
    });
  }

  async addOrder(row: string, customer: string, total: number): Promise<void> {
    await this.db.transact((tx) => {
      tx.set(tables.orders.customer, row, customer);
      tx.set(tables.orders.total, row, total);
    });
  }

  async setTotal(row: string, total: number): Promise<void> {
    await this.db.transact((tx) => tx.set(tables.orders.total, row, total));
  }

  /** The orders in the database. */
  async stored(): Promise<readonly unknown[]> {
    await using snapshot = await this.db.snapshot();
    const found = [];
    for await (const { row, value } of snapshot.scan(tables.orders)) found.push({ row, ...value });
    return found;
  }

  /** Sends a request that writes. */
  async post(body: unknown, type = "application/json"): Promise<Response> {
    const headers = { "content-type": type };
    return await this.#fetch("/write", { method: "POST", headers, body: JSON.stringify(body) ?? "nothing" });
  }

  /** Starts the server, at the same port as before. */
  async startServer(): Promise<void> {
    const app = shopApp(this.db);
    const answer = (request: Request) => {
      const isFeed = request.method === "GET";
      if (isFeed) this.sending++;
      if (isFeed) request.signal.addEventListener("abort", () => this.sending--);
      return app.fetch(request);
    };
    this.#server = await serve(answer, this.#port);
    this.#port = this.#server.port;
  }

  async stopServer(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.gate.open();
    await Promise.all([this.orders.cleanup(), this.customers.cleanup()]);
    await this.stopServer();
    await this.db.close();
  }
}

/** The items of a collection without what TanStack DB adds to them. */
export function itemsOf(collection: { readonly toArray: readonly object[] }): readonly object[] {
  const isColumn = ([name]: [string, unknown]) => !name.startsWith("$");
  return collection.toArray.map((item) => Object.fromEntries(Object.entries(item).filter(isColumn)));
}

/** Every commit of a collection from now on, as a list of its changes in the order of the rows. */
export function commitsOf(collection: Orders): string[][] {
  const commits: string[][] = [];
  const show = ({ type, value }: { type: string; value: ItemOf<typeof tables.orders> }) => {
    const { row, customer = "-", total = "-", state = "-" } = value;
    return `${row} ${type} ${customer} ${total} ${state}`;
  };
  const take = (changes: readonly Parameters<typeof show>[0][]) =>
    void commits.push(changes.map(show).sort());
  // TanStack DB reports the first change of a row that a subscriber does not have as an insert.
  collection.subscribeChanges(take, { includeInitialState: true });
  commits.length = 0;
  return commits;
}
