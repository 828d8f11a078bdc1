import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { exampleNames } from "../.vitepress/pages.js";

const readme = (name: string) => fileURLToPath(new URL(`../../examples/${name}/README.md`, import.meta.url));

/** Each example's own page, as it stands beside its code. */
export default {
  paths: () =>
    exampleNames().map((name) => ({ params: { name }, content: readFileSync(readme(name), "utf8") })),
};
