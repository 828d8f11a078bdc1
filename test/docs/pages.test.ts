import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { format } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { compilerErrors } from "./compile.js";
import { blocksOf, type Example, examplesOf, generate, place, root } from "./examples.js";
import { pagesOf } from "./pages.js";
import { stories, storyOf } from "./story.js";

/** Compiles and runs every complete example of a page under `docs/` with the current code. */

const folders = ["docs", "docs/recipes"];
const pages = (await Promise.all(folders.map(pagesOf))).flat();

async function examplesIn(
  page: string,
): Promise<readonly { readonly example: Example; readonly path: string }[]> {
  const examples = examplesOf(page, await readFile(join(root, page), "utf8"));
  return Promise.all(examples.map(async (example) => ({ example, path: await generate(example) })));
}

const examples = (await Promise.all(pages.map(examplesIn))).flat();

const before = process.cwd();
let folder: string;

beforeAll(async () => {
  // Examples make databases in the current folder.
  folder = await mkdtemp(join(tmpdir(), "percolatordb-pages-"));
  process.chdir(folder);
});

afterAll(async () => {
  process.chdir(before);
  await rm(folder, { recursive: true, force: true });
  // If these files stayed, the compiler would find outdated ones after a page has changed.
  await rm(place, { recursive: true, force: true });
});

for (const { example, path } of examples) {
  const { title, output, hasTests } = example;
  if (hasTests) describe(title, () => import(/* @vite-ignore */ path));
  else
    test(title, async () => {
      const printed: string[] = [];
      const log = vi.spyOn(console, "log").mockImplementation((...parts) => {
        printed.push(format(...parts));
      });
      try {
        await import(/* @vite-ignore */ path);
      } finally {
        log.mockRestore();
      }
      if (output !== undefined) expect(printed.join("\n")).toEqual(output.trimEnd());
    });
}

test("every example compiles in strict mode, including that of README.md", async () => {
  const readme = await examplesIn("README.md");
  const story = (await Promise.all(stories.map(storyFiles))).flat();
  const paths = [...[...examples, ...readme].map(({ path }) => path), ...story];
  const wrong = await generate({
    file: "wrong.ts",
    code: 'import { open } from "percolatordb";\nawait open(1);\n',
  });
  const errors = compilerErrors(join(root, "tsconfig.json"), [...paths, wrong]);
  expect(errors).toEqual([expect.stringContaining("wrong.ts: Argument of type 'number'")]);
});

/** Returns the modules of a story page in their final version. */
async function storyFiles(page: string): Promise<readonly string[]> {
  const files = new Map<string, string>();
  for (const step of storyOf(await readFile(join(root, page), "utf8"))) {
    if (step.type === "file" && step.name.endsWith(".ts")) files.set(step.name, step.text);
  }
  expect(files.size).toBeGreaterThan(2);
  // Two stories may have files of the same name.
  const prefix = basename(page, ".md");
  const own = (code: string) =>
    code.replaceAll(/from "\.\/([\w.-]+)\.js"/g, (_, name: string) => `from "./${prefix}-${name}.js"`);
  return Promise.all(
    [...files].map(([name, code]) => generate({ file: `${prefix}-${name}`, code: own(code) })),
  );
}

test("docs/testing.md contains only complete programs", async () => {
  const page = await readFile(join(root, "docs/testing.md"), "utf8");
  const shown = blocksOf(page).filter(({ language }) => language === "ts");
  expect(shown.length).toBeGreaterThan(5);
  expect(examplesOf("docs/testing.md", page)).toHaveLength(shown.length);
});
