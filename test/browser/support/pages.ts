import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const configFile = fileURLToPath(new URL("../../../web/vite.config.ts", import.meta.url));

/** Builds the current pages into a new folder. The caller removes it. */
export async function buildPages(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "percolatordb-pages-"));
  await build({ configFile, build: { outDir: path, emptyOutDir: true }, logLevel: "warn" });
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
