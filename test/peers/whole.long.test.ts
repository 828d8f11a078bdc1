import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/**
 * Every peer scenario with all its cases, on every store and both commit paths. The quick tests leave
 * out two phases on PostgreSQL, and most cases on stores whose requests take time.
 */

const root = fileURLToPath(new URL("../../", import.meta.url));
const files = readdirSync(new URL(".", import.meta.url)).filter((name) => /^[\w-]+\.test\.ts$/.test(name));

test.each(files)(
  "all cases of %s",
  async (name) => {
    const own = Object.entries(process.env).filter(([variable]) => !/^(VITEST|TEST|MODE)/.test(variable));
    const child = spawn(
      process.execPath,
      ["node_modules/vitest/vitest.mjs", "run", `test/peers/${name}`, "--typecheck.enabled=false"],
      { cwd: root, env: { ...Object.fromEntries(own), PERCOLATOR_PEERS: "all", NO_COLOR: "1" } },
    );
    const said: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => said.push(chunk));
    const [code] = await once(child, "close");
    const text = Buffer.concat(said).toString();
    expect(code, text.slice(-8_000)).toBe(0);
    expect(text).toMatch(/Tests +\d+ passed/);
  },
  1_800_000,
);
