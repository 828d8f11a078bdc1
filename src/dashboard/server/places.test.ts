import { expect, test } from "vitest";
import { open } from "../../database/index.js";
import { table, text } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { serveDashboard } from "./server.js";

const pages = table("pages", { body: text() });

/** A store whose reads wait after `pause`, until `goOn`. */
function pausable() {
  let goOn: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let isPaused = false;
  const store = new Proxy<RowStore>(memoryStore(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!String(name).startsWith("read")) return value.bind(target);
      return async (...read: unknown[]) => {
        if (isPaused) await promise;
        return await value.apply(target, read);
      };
    },
  });
  const pause = () => {
    isPaused = true;
  };
  return { store, pause, goOn };
}

test("probes and metrics need no place, and requests whose clients have gone away hold none", async () => {
  const { store, pause, goOn } = pausable();
  const db = await open(store, { collectEveryMs: 0, tables: [pages] });
  const dashboard = await serveDashboard(db);
  const status = async (path: string) => (await fetch(new URL(path, dashboard.url))).status;
  try {
    await db.transact((tx) => tx.set(pages.body, "a", "x"));
    pause();
    const clients = new AbortController();
    const asked = Array.from({ length: 64 }, (_, row) =>
      fetch(new URL(`api/inspect?table=pages&row=${row}`, dashboard.url), { signal: clients.signal }),
    );
    const ended = Promise.allSettled(asked);
    await expect.poll(() => status("api/none"), { timeout: 20_000 }).toBe(503);
    expect(await status("healthz")).toBe(200);
    expect(await status("metrics")).toBe(200);
    clients.abort();
    await ended;
    await expect.poll(() => status("api/none"), { timeout: 20_000 }).toBe(404);
  } finally {
    goOn();
    await dashboard.close();
    await db.close();
  }
});
