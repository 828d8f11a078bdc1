import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";

/** Returns what a browser would load. */
async function bundled(entry: string): Promise<{ readonly text: string; readonly bytes: number }> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    external: ["react", "preact/hooks"],
    write: false,
    logLevel: "error",
  });
  const [file] = outputFiles;
  return { text: file!.text, bytes: gzipSync(file!.contents).length };
}

test("the client is less than 2 KB, minified and compressed, and needs nothing else", async () => {
  const { text, bytes } = await bundled("src/live/client/index.ts");
  expect(bytes).toBeGreaterThan(1_000);
  expect(bytes).toBeLessThan(2_048);
  expect(text).not.toMatch(/\bimport\b|require\(/);
});

test.each(["react", "preact"])(
  "the hook of %s adds less than 1 KB, and needs only its hooks",
  async (name) => {
    const { text, bytes } = await bundled(`src/live/client/${name}.ts`);
    expect(bytes).toBeLessThan(3_072);
    const imports = [...text.matchAll(/from"([^"]+)"/g)].map(([, from]) => from);
    expect(imports).toEqual([name === "react" ? "react" : "preact/hooks"]);
  },
);
