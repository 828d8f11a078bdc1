import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { draw } from "./figures/draw.js";
import { figures } from "./figures/scenes.js";

/**
 * Writes the figures of docs/how-it-works.md again: `npm run docs:figures`. A test compares them
 * with the code.
 */
const folder = fileURLToPath(new URL("../docs/figures/protocol/", import.meta.url));

await mkdir(folder, { recursive: true });
for (const [name, { title, make }] of Object.entries(figures)) {
  await writeFile(join(folder, `${name}.svg`), draw(await make(), title));
}
