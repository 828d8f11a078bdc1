import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { style } from "../../examples/webindex/server/style.js";
import { root } from "../support/built/files.js";

/** The dashboard, the documentation and the web index look like parts of one thing. */

const read = (path: string) => readFileSync(join(root, path), "utf8");

/** The colours that a style sheet declares in its blocks, by the place of the block and the name. */
function colours(css: string): readonly ReadonlyMap<string, string>[] {
  return [...css.matchAll(/\{([^{}]*--[^{}]*)\}/g)].map(
    ([, block]) =>
      new Map(
        [...block!.matchAll(/(--[\w-]+): (#[0-9a-f]{3,6})\b/g)].map(([, name, value]) => [name!, value!]),
      ),
  );
}

const [light, dark, darkBySystem] = colours(read("web/src/styles/base.css"));

test("the dashboard has the same dark colours by choice and by the system's setting", () => {
  expect(light!.size).toBeGreaterThan(15);
  expect(dark).toEqual(darkBySystem);
});

test("the web index has the dashboard's colours", () => {
  const [own, ownDark] = colours(style);
  expect(own!.size).toBeGreaterThan(5);
  expect([...own!.keys()]).toEqual([...ownDark!.keys()]);
  for (const [name, value] of own!) expect(light!.get(name), name).toBe(value);
  for (const [name, value] of ownDark!) expect(dark!.get(name), name).toBe(value);
});

test("the documentation has the dashboard's accent", () => {
  const [own, ownDark] = colours(read("docs/.vitepress/theme/style.css"));
  expect(own!.get("--vp-c-brand-1")).toBe(light!.get("--accent"));
  expect(ownDark!.get("--vp-c-brand-1")).toBe(dark!.get("--accent"));
});

test("all have the same icon, in the accent", () => {
  const icon = read("web/public/icon.svg");
  expect(read("docs/public/icon.svg")).toBe(icon);
  expect(icon).toContain(`fill="${light!.get("--accent")}"`);
});
