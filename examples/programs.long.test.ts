import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type AnyTable, type Database, type Observer, open, type Snapshot } from "percolatordb";
import { live } from "percolatordb/live/client";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../test/support/databases.js";
import { ProgramProcess } from "../test/support/program-process.js";
import { pause } from "../test/support/waiting.js";
import bank from "./bank/app.js";
import { auditBank } from "./bank/audit.js";
import type { liveAudit } from "./bank/live-audit.js";
import { openAccounts } from "./bank/load.js";
import embeddings from "./embeddings/app.js";
import { differences as differencesOfEmbeddings } from "./embeddings/batch.js";
import { setDocument } from "./embeddings/folder.js";
import pages from "./pages/app.js";
import { differences as differencesOfPages } from "./pages/batch.js";
import { makeSite } from "./pages/site.js";

/** Runs the examples' own commands, and `percolator worker` with their application modules. */

async function run(script: string, ...args: string[]): Promise<string> {
  const process = new ProgramProcess(script, args);
  await process.ended();
  expect([process.end, process.errors]).toEqual(["0", ""]);
  return process.lines.join("\n");
}

describe("the command of", () => {
  test("bank shows its three scenes, and continues in a folder", async () => {
    const folder = await temporaryFolder();
    try {
      for (let time = 0; time < 2; time++) {
        const said = await run("examples/bank/main.ts", join(folder.path, "data"));
        expect(said).toContain("Joe           3: $9       3: primary is accounts/Bob");
        expect(said).toMatch(/ 0 not yet in the trail, sum 0, every account exact\n\d+ made, \d+ refused/);
        expect(said).not.toContain("PROBLEMS");
        expect(said).toContain("snapshot: 2 of 2 were paid, and together they now hold $-100");
        expect(said).toContain("serializable: 1 of 2 were paid, and together they now hold $50");
      }
    } finally {
      await folder.remove();
    }
  });

  test("bank serves its audit until it is told to stop", async () => {
    const served = new ProgramProcess("examples/bank/main.ts", ["--serve", "--port", "0"]);
    try {
      await served.said((line) => line.startsWith("The audit is at http"));
      const url = served.lines[0]!.slice("The audit is at ".length);
      const seen = new Set<string>();
      for await (const { value } of live<ReturnType<typeof liveAudit>>(`${url}live/audit`)) {
        expect([value.balances.length, value.sum]).toEqual([51, 0]);
        seen.add(JSON.stringify(value.balances));
        if (seen.size === 3) break;
      }
      await served.terminate();
      expect(served.errors).toBe("");
    } finally {
      await served.kill();
    }
  });

  test("pages renders what each edit requires", async () => {
    const said = await run("examples/pages/main.ts");
    const rendered = [...said.matchAll(/^(?:an?|one|what|the) .*? {2,}(\d+) +\d+ +\d+$/gm)];
    expect(rendered.map(([, count]) => Number(count))).toEqual([1, 125, 1, 500, 500, 501, 500, 0, 1]);
  });

  test("shop makes a server of its own, and equals SQL", async () => {
    const said = await run("examples/shop/main.ts", "--orders", "20", "--verify");
    expect(said).toMatch(/^A shop of 20 orders was made in /);
    expect(said.match(/ rows, equal$/gm)).toHaveLength(11);
  });

  test("tanstack follows a feed, and writes through it", async () => {
    const said = await run("examples/tanstack/main.ts");
    const readme = await readFile("examples/tanstack/README.md", "utf8");
    expect(readme).toContain(`\`\`\`text\n${said.trimEnd()}\n\`\`\``);
  });

  test("embeddings embeds what each change requires, and answers", async () => {
    const folder = await temporaryFolder();
    try {
      const text = Array.from(
        { length: 80 },
        (_, line) => `Line ${line} of a text on the walrus, ${line * 7}.\n`,
      );
      await writeFile(join(folder.path, "walrus.md"), text.join(""));
      await writeFile(join(folder.path, "stocks.md"), "Stock prices fell.\n");
      const said = await run("examples/embeddings/main.ts", folder.path, "--ask", "prices of stock");
      expect(said).toMatch(/the same again +\d+ +0 /);
      expect(said).toMatch(/a paragraph is added to walrus.md +\d+ +[1-4] /);
      expect(said).toMatch(/a copy of it comes +\d+ +0 /);
      expect(said).toMatch(/"prices of stock"\n {2}0\.\d\d {2}stocks.md: Stock prices fell./);
    } finally {
      await folder.remove();
    }
  });
});

interface Example {
  readonly name: string;
  readonly app: { readonly tables: readonly AnyTable[]; readonly observers: readonly Observer[] };
  readonly load: (db: Database) => Promise<unknown>;
  /** Returns the differences from the batch twin. */
  readonly problems: (view: Snapshot) => Promise<readonly string[]>;
}

const examples: readonly Example[] = [
  {
    name: "bank",
    app: bank,
    load: (db) => openAccounts(db, 5),
    problems: async (view) => (await auditBank(view)).problems,
  },
  { name: "pages", app: pages, load: (db) => makeSite(db, 5), problems: differencesOfPages },
  {
    name: "embeddings",
    app: embeddings,
    load: (db) => setDocument(db, "a", "a walrus"),
    problems: differencesOfEmbeddings,
  },
];

test.each(examples)("percolator worker LOCATION examples/$name/app.ts does all due work", async (example) => {
  const folder = await temporaryFolder();
  const location = join(folder.path, "data");
  try {
    await using db = await open(location, example.app);
    await example.load(db);
    expect(await waiting(db)).toBe(true);
    const args = ["worker", location, `examples/${example.name}/app.ts`];
    const worker = new ProgramProcess("src/cli/main.ts", args);
    try {
      while (await waiting(db)) await pause(20);
      await worker.terminate();
    } finally {
      await worker.kill();
    }
    await using view = await db.snapshot();
    expect(await example.problems(view)).toEqual([]);
    expect(db.metrics.observers).toEqual({});
  } finally {
    await folder.remove();
  }
});

async function waiting(db: Database): Promise<boolean> {
  for await (const _ of db.pending()) return true;
  return false;
}
