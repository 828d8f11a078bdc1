import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { type Database, InvalidKeyError, InvalidValueError, type Transaction } from "percolatordb";
import { feedResponse } from "percolatordb/live";
import { customerFeed, customers, orderFeed, orders } from "./tables.js";
import { RefusedError, type SentMutation, writeMutations } from "./write.js";

/** The most bytes of a request that writes. */
const limit: Parameters<typeof bodyLimit>[0] = {
  maxSize: 1_048_576,
  onError: (c) => c.json({ code: "BODY_TOO_LARGE", message: "The request has more than 1 MB." }, 413),
};

/** Serves the feeds of a shop, and takes mutations. Add a check of the user before you use it. */
export function shopApp(db: Database): Hono {
  const app = new Hono();
  app.get("/feeds/customers", (c) => feedResponse(db, customerFeed, c.req.raw, { snapshot: true }));
  app.get("/feeds/orders", (c) => feedResponse(db, orderFeed, c.req.raw, { snapshot: true }));
  app.post("/write", bodyLimit(limit), async (c) => {
    // Browsers let pages of all origins send text and forms, with the user's cookies. JSON they ask for first.
    if (!/^application\/json *(;|$)/i.test(c.req.header("content-type") ?? ""))
      return c.json(
        { code: "CONTENT_TYPE", message: "Send JSON, with content-type: application/json." },
        415,
      );
    const body: unknown = await c.req.json().catch(() => undefined);
    return c.json({ commitTimestamp: await writeMutations(db, [customerFeed, orderFeed], body, checkShop) });
  });
  app.onError((error, c) => {
    const isRefused = [RefusedError, InvalidKeyError, InvalidValueError].some((of) => error instanceof of);
    if (!isRefused) return c.json({ code: "INTERNAL", message: "The server failed." }, 500);
    const { code, message } = error as RefusedError;
    return c.json({ code, message }, 422);
  });
  return app;
}

/** The rules of the shop. They hold for what the transaction has written. */
async function checkShop(tx: Transaction, { table, row }: SentMutation): Promise<void> {
  const order = table === "orders" ? await tx.row(orders, row as string) : undefined;
  if (order === undefined) return;
  if ((order.total ?? 0) < 0) throw new RefusedError("BAD_TOTAL", `The total of ${row} is less than 0.`);
  const customer = order.customer ?? "";
  if ((await tx.get(customers.name, customer)) === undefined) {
    throw new RefusedError("NO_CUSTOMER", `The order ${row} is of a customer that does not exist.`);
  }
}

/** A server on loopback. */
export interface Server {
  readonly url: string;
  readonly port: number;
  /** Ends all connections, and listens no longer. */
  close(): Promise<void>;
}

/** Listens on loopback. With `port` 0, the system chooses one. */
export async function serve(
  answer: (request: Request) => Response | Promise<Response>,
  port = 0,
): Promise<Server> {
  // By default the adapter would replace the program's global `Request` and `Response`.
  const server = createServer(getRequestListener(answer, { overrideGlobalObjects: false }));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const bound = (server.address() as AddressInfo).port;
  const close = async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${bound}`, port: bound, close };
}
