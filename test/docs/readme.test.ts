import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const readme = await readFile(join(root, "README.md"), "utf8");
const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    (match) => match[1]!,
  );

describe("README.md", () => {
  test("opens with a description, followed by exactly two commands for a fresh machine", () => {
    const [first, second] = blocks("sh");
    expect(first).toMatch(/^npm ci && npm run webindex\b/);
    expect(second).toMatch(/^npm ci && npm test\b/);
  });

  test("names only existing scripts", () => {
    const named = [...readme.matchAll(/npm run ([\w:-]+)/g)].map((match) => match[1]!);
    expect(named.filter((name) => manifest.scripts[name] === undefined)).toEqual([]);
  });

  test("its example compiles in strict mode, and gives the described output", async () => {
    const folder = await temporaryFolder();
    // Next to the sources, so that its imports resolve as for a program in this repository.
    const place = join(root, "test", "docs", "generated");
    try {
      await mkdir(place, { recursive: true });
      const [example] = blocks("ts");
      const path = join(place, "example.ts");
      await writeFile(path, example!.replace('"./data"', JSON.stringify(join(folder.path, "data"))));
      const ran = spawnSync(process.execPath, ["--import", "tsx", path], { cwd: root, encoding: "utf8" });
      expect(ran.stderr).toBe("");
      expect(ran.stdout).toMatch(/^[0-9a-f]{64} https:\/\/example\.org\/(copy)?\n$/);
    } finally {
      await folder.remove();
    }
  });
});
