import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { root } from "../support/built/files.js";
import { judge } from "./checker/judge.js";
import { promised } from "./checker/models.js";
import { readEdn } from "./edn.js";
import { workloadOf } from "./operations.js";

const folder = join(root, "docs/histories");
const rows = readFileSync(join(root, "docs/proof.md"), "utf8").split("\n");

test.each(readdirSync(folder))("%s is as docs/proof.md describes it", (name) => {
  const operations = readEdn(gunzipSync(readFileSync(join(folder, name))).toString("utf8"));
  const isolation = name.includes("-serializable-") ? "serializable" : "snapshot";
  const { anomalies, allowed, committed, failed, unknown } = judge(operations, promised[isolation]);
  expect(anomalies).toEqual([]);
  expect(name).toContain(workloadOf(operations));
  const numbers = [committed, failed, unknown].map((number) => number.toLocaleString("en-US"));
  const skews = allowed
    .filter(({ kind }) => kind.startsWith("G2-item"))
    .reduce((sum, { count }) => sum + count, 0);
  expect(rows.filter((row) => row.startsWith(`| \`${name}\``))).toEqual([
    `| \`${name}\` | ${numbers.join(" | ")} | ${skews} |`,
  ]);
});
