/**
 * Builds TypeScript files of this project: `node build.mjs PROJECT FOLDER FILE...`. In what it builds,
 * `import.meta.url` is the address of the source.
 */
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const [project, folder, ...files] = process.argv.slice(2);

const addresses = {
  name: "addresses",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const address = JSON.stringify(pathToFileURL(path).href);
      // Not where it is a string.
      return { contents: source.replaceAll(/(?<!["'`])import\.meta\.url/g, address), loader: "ts" };
    });
  },
};

await build({
  absWorkingDir: project,
  entryPoints: files,
  outdir: folder,
  outbase: project,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  logLevel: "warning",
  plugins: [addresses],
});
