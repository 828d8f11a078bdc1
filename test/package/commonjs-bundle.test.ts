import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import type * as library from "../../src/index.js";

const folder = mkdtempSync(join(tmpdir(), "percolatordb-commonjs-"));
let bundled: typeof library &
  Pick<typeof import("../../src/errors/index.js"), "requirePackage"> &
  Pick<typeof import("../../src/dashboard/server/static-pages.js"), "builtPages">;

beforeAll(async () => {
  const outfile = join(folder, "program.cjs");
  const contents = `
    export * from "./src/index.ts";
    export { requirePackage } from "./src/errors/index.ts";
    export { builtPages } from "./src/dashboard/server/static-pages.ts";`;
  await build({
    stdin: { contents, resolveDir: join(import.meta.dirname, "../.."), loader: "ts" },
    bundle: true,
    platform: "node",
    format: "cjs",
    external: ["lmdb"],
    outfile,
    logLevel: "error",
  });
  bundled = createRequire(import.meta.url)(outfile);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("workers of a program that was bundled as CommonJS run its observers", async () => {
  const { int, observer, open, table, text } = bundled;
  const pages = table("pages", { title: text(), length: int() });
  const lengths = observer("lengths", pages.title, (tx, { row, value }) =>
    tx.set(pages.length, row, value?.length ?? 0),
  );
  await using db = await open("memory:", { tables: [pages], observers: [lengths] });
  db.work();
  const tx = await db.transact((tx) => {
    tx.set(pages.title, "a", "hello");
    return tx;
  });
  await db.settled(tx.commitTimestamp!, { timeoutMs: 10_000 });
  expect(await db.transact((tx) => tx.get(pages.length, "a"))).toBe(5);
});

test("it looks for the pages of the dashboard, which it does not have", () => {
  expect(bundled.builtPages()).toContain("pages");
});

test("it finds the packages that are optional", () => {
  const need = { user: "This test", packages: ["node:path"] };
  expect(bundled.requirePackage<typeof import("node:path")>("node:path", need).sep).toBeTypeOf("string");
  expect(() => bundled.requirePackage("clay-tablets", need)).toThrow("which is not installed");
});
