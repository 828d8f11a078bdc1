import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { builtFiles, root } from "../support/built/files.js";
import { forked, others } from "./forked.js";

test("every script that communicates with its parent is listed here", () => {
  const found = ["examples", "bench", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .map((path) => `${folder}/${path}`)
      .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
      .filter((path) =>
        /(?<![#.\w])process\.(send\b|on\("message"|once\("message")/.test(
          readFileSync(join(root, path), "utf8"),
        ),
      ),
  );
  expect(found.filter((path) => !forked.includes(path) && !others.includes(path))).toEqual([]);
});

test("each of them can be built as the tests build programs", () => {
  const built = builtFiles(forked)!;
  expect(built.filter((path) => !existsSync(path))).toEqual([]);
});
