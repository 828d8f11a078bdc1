import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * The pages work under any base, and under a policy that allows neither inline code nor other
 * origins.
 */
export default defineConfig({
  root: folder("."),
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: folder("../dist/dashboard/pages"),
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
});
