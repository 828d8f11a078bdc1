/** Serves what observers derived as JSON, and the dashboard. Only this machine reaches it. */
import { createServer, type ServerResponse } from "node:http";
import { type Database, InvalidKeyError, type Snapshot } from "percolatordb";
import { dashboardHandler } from "percolatordb/dashboard";
import { type Listening, listening } from "../support/listening.js";
import { searchCustomers } from "./search.js";
import { customers, customerTotals, lowStock, products, revenue } from "./tables.js";

const rowsShown = 100;

/** Starts the server. Port 0 takes a free one. */
export async function serveShop(db: Database, port: number): Promise<Listening> {
  const dashboard = dashboardHandler(db, { base: "/dashboard/" });
  const server = createServer((request, response) => {
    if (dashboard.handle(request, response)) return;
    answer(db, request.url ?? "/", response).catch((error: unknown) => {
      // A parameter that is longer than any key.
      if (error instanceof InvalidKeyError) return json(response, 400, { error: error.message });
      console.error(error);
      if (!response.headersSent)
        json(response, 500, { error: "The request failed. The program's output says why." });
    });
  });
  return await listening(server, port, () => dashboard.close());
}

async function answer(db: Database, address: string, response: ServerResponse): Promise<void> {
  await using view = await db.snapshot();
  // A client may send anything, such as `//`, which is no address.
  const url = URL.canParse(address, "http://localhost") ? new URL(address, "http://localhost") : undefined;
  const page = url && pages.get(url.pathname);
  if (url === undefined || page === undefined)
    return json(response, 404, { pages: [...pages.keys(), "/dashboard/"] });
  json(response, 200, await page(view, url.searchParams));
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json", "X-Content-Type-Options": "nosniff" });
  response.end(`${JSON.stringify(value, undefined, 2)}\n`);
}

type Page = (view: Snapshot, parameters: URLSearchParams) => Promise<unknown>;

const pages: ReadonlyMap<string, Page> = new Map<string, Page>([
  ["/", async () => ({ pages: [...pages.keys(), "/dashboard/"] })],
  [
    "/customers",
    async (view, parameters) => {
      const { customers: found, isComplete } = await searchCustomers(view, parameters.get("name") ?? "");
      const totals = await view.getMany(
        customerTotals.cents,
        found.map(({ id }) => [id] as const),
      );
      return { isComplete, customers: found.map((each, n) => ({ ...each, cents: totals[n] ?? 0 })) };
    },
  ],
  [
    "/customer",
    async (view, parameters) => {
      const id = Number(parameters.get("id"));
      if (!Number.isSafeInteger(id)) return null;
      return { ...(await view.row(customers, [id])), ...(await view.row(customerTotals, [id])) };
    },
  ],
  [
    "/revenue",
    async (view, parameters) => {
      const days: Record<string, number> = {};
      const prefix = parameters.get("prefix") ?? "";
      for await (const { row, value } of view.scan(revenue.values, { prefix, limit: 366 })) days[row] = value;
      return days;
    },
  ],
  [
    "/low-stock",
    async (view) => {
      const rows: unknown[] = [];
      for await (const { row, value } of view.scan(lowStock, { limit: rowsShown })) {
        rows.push({ id: row[0], name: await view.get(products.name, row), ...value });
      }
      return rows;
    },
  ],
]);
