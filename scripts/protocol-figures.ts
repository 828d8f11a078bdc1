import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { drawings } from "./figures/index.js";

/** Writes the drawn figures of the pages again: `npm run docs:figures`. A test compares them with the code. */
const folder = fileURLToPath(new URL("../docs/figures/", import.meta.url));

for (const [name, make] of drawings) {
  const file = join(folder, `${name}.svg`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, await make());
}
