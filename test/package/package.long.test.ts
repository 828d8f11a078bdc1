import { lstatSync, readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NoCompilers } from "./no-compilers.js";
import { Packed, root } from "./packed.js";

/**
 * Tests the package as users get it: packed, installed in a fresh folder, and used from a strict
 * TypeScript project.
 */

const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
const entries = Object.keys(manifest.exports).filter((path) => path !== "./package.json");
const specifier = (entry: string) => `percolatordb${entry.slice(1)}`;

const program = `node_modules/percolatordb/${manifest.bin.percolator}`;
const grpc = "@grpc/grpc-js";
const bigtablePeers = {
  user: "Cloud Bigtable",
  first: grpc,
  names: "@grpc/grpc-js protobufjs google-auth-library",
};
const coordinatorPeers = {
  user: "A coordinator or its client",
  first: grpc,
  names: "@grpc/grpc-js protobufjs",
};
const postgresPeers = { user: "A store on PostgreSQL", first: "pg", names: "pg" };

/** The size of all files in a folder. */
function bytesOf(folder: string): number {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  const files = paths.map((path) => lstatSync(path)).filter((each) => each.isFile());
  return files.reduce((sum, { size }) => sum + size, 0);
}

let packed: Packed;
let compilers: NoCompilers;
beforeAll(async () => {
  packed = await Packed.create();
  compilers = await NoCompilers.create(join(packed.folder, "compilers"));
  packed.env = compilers.env;
  await packed.write("package.json", JSON.stringify({ name: "project", private: true, type: "module" }));
  const { code, stderr } = await packed.run("npm", "install", "--no-audit", "--no-fund", packed.tarball);
  expect(code, stderr).toBe(0);
  // The hook builds, packs and installs.
}, 600_000);
afterAll(() => packed?.remove());

describe("the packed package", () => {
  test("contains every file that it names, and has no broken references (publint)", async () => {
    const { messages, pkg } = await publint({ pack: { tarball: await readTarball() }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test("has types that resolve in the same way as its modules (attw)", async () => {
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array(await readTarball())));
    if (result.types === false) throw new Error("It has no types.");
    // The package has only ES modules, as its `type` says. A program that loads it by `require`
    // needs a version of Node that supports this, as its `engines` says. So this problem is
    // expected.
    const wrong = result.problems.filter(({ kind }) => kind !== "CJSResolvesToESM");
    const ofNode10 = (problem: (typeof wrong)[number]) =>
      "resolutionKind" in problem && problem.resolutionKind === "node10";
    expect(wrong.filter((problem) => !ofNode10(problem))).toEqual([]);
  });

  test("is installed without compiling anything or running a script except the registry's", async () => {
    const { stdout } = await packed.run("npm", "ls", "--all", "--json");
    expect(JSON.parse(stdout).problems ?? []).toEqual([]);
    expect(manifest.scripts.install ?? manifest.scripts.postinstall).toBe(undefined);
    expect(await compilers.asked()).toEqual([]);
  });

  test("would be detected if it compiled", async () => {
    const { stdout, stderr } = await packed.run("npm", "rebuild", "lmdb", "--build-from-source");
    expect(await compilers.asked(), `${stdout}${stderr}`).not.toEqual([]);
  });

  test("contains its changelog and the licences of others", async () => {
    const { stdout } = await packed.run("ls", "node_modules/percolatordb");
    const files = stdout.trim().split("\n");
    const named = ["LICENSE", "README.md", "THIRD_PARTY_NOTICES", "dist", "package.json"];
    expect(files.toSorted()).toEqual(named.toSorted());
  });

  test("has a command line that runs", async () => {
    const { code, stdout } = await packed.run("npx", "--no-install", "percolator", "--help");
    expect(code).toBe(0);
    expect(stdout).toContain("percolator [options] [command]");
  });

  test("runs a transaction and an observer from a module of the project", async () => {
    await packed.write(
      "app.js",
      `import { observer, open, table, text } from "percolatordb";
const pages = table("pages", { body: text(), title: text() });
const titles = observer("titles", pages.body, (tx, { row, value }) => tx.set(pages.title, row, value.slice(0, 5)));
const db = await open("./data", { observers: [titles] });
await db.transact((tx) => tx.set(pages.body, "a", "Hello world"));
await db.drain();
console.log(await db.transact((tx) => tx.get(pages.title, "a")));
`
        .replace("await using db", "const db")
        .concat("await db.close();\n"),
    );
    expect(await packed.run("node", "app.js")).toEqual({ code: 0, stdout: "Hello\n", stderr: "" });
    const { stdout } = await packed.run(
      "npx",
      "--no-install",
      "percolator",
      "get",
      "data",
      "pages.title",
      "a",
    );
    expect(stdout).toBe("Hello\n");
  });

  test("is small: 1.3 MB to load, 4.5 MB of its own, 40 MB with LMDB and all dependencies", () => {
    const installed = join(packed.folder, "project/node_modules");
    const own = bytesOf(join(installed, "percolatordb"));
    expect(own).toBeGreaterThan(1_000_000);
    expect(own).toBeLessThan(4_500_000);
    expect(lstatSync(packed.tarball).size).toBeLessThan(1_300_000);
    // With LMDB's and msgpackr's addons for this machine, of which there may be one for each C library.
    expect(bytesOf(installed)).toBeLessThan(40_000_000);
  });

  test("brings at most 18 packages, with LMDB's, and works if npm runs no scripts", async () => {
    const { stdout } = await packed.run("npm", "ls", "--all", "--parseable", "--omit=optional");
    const brought = stdout.trim().split("\n").slice(1);
    expect(brought.length).toBeGreaterThan(5);
    expect(brought.length).toBeLessThanOrEqual(18);
    const { folder } = await packed.install("no-scripts", ["--ignore-scripts", packed.tarball]);
    await writeFile(
      join(folder, "app.mjs"),
      `import { open } from "percolatordb"; await (await open("./data")).close(); console.log("opened");`,
    );
    expect(await packed.run("node", join(folder, "app.mjs"))).toEqual({
      code: 0,
      stdout: "opened\n",
      stderr: "",
    });
  });

  test("adds less than 8 MB to LMDB and its dependencies", async () => {
    const project = join(packed.folder, "project");
    const lmdb = (await lmdbFolders()).map((location) => bytesOf(join(project, location)));
    const own = bytesOf(join(project, "node_modules")) - lmdb.reduce((sum, bytes) => sum + bytes, 0);
    expect(own).toBeGreaterThan(1_000_000);
    expect(own).toBeLessThan(8_000_000);
  });

  test.each([
    [
      "open(bigtable:...)",
      'import { open } from "percolatordb"; await open("bigtable://p/i");',
      bigtablePeers,
    ],
    ["percolatordb/bigtable", 'import "percolatordb/bigtable";', bigtablePeers],
    [
      "open(postgres:...)",
      'import { open } from "percolatordb"; await open("postgres://h/d");',
      postgresPeers,
    ],
    ["percolatordb/coordinator", 'import "percolatordb/coordinator";', coordinatorPeers],
    [
      "open with a coordinator",
      'import { open } from "percolatordb"; await open("./data", { coordinator: "auto" });',
      coordinatorPeers,
    ],
  ])("says what to install if a cluster's packages are missing: %s", async (_, code, peers) => {
    await packed.write("cluster.js", code);
    const { code: exit, stderr } = await packed.run("node", "cluster.js");
    expect(exit).toBe(1);
    expect(stderr).toContain(
      `MissingPackageError: ${peers.user} needs the package ${peers.first}, which is not installed: run \`npm install ${peers.names}\`.`,
    );
  });

  test.each([
    [["get", "bigtable://p/i", "pages.title", "a"], bigtablePeers],
    [["coordinator", "./data"], coordinatorPeers],
    [["status", "./data", "--coordinator", "auto"], coordinatorPeers],
  ])("its command line reports that in one line: %j", async (args, peers) => {
    const { code, stderr } = await packed.run("node", program, ...args);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `error: ${peers.user} needs the package ${peers.first}, which is not installed: run \`npm install ${peers.names}\`. (MISSING_PACKAGE)\n`,
    );
  });

  test("every entry point gives `require` what it gives `import`, be it a missing package", async () => {
    await packed.write(
      "both.cjs",
      `const outcome = (load) => load().then((all) => Object.keys(all).sort(), (error) => error.code);
(async () => {
  for (const name of ${JSON.stringify(entries.map(specifier))}) {
    const required = await outcome(async () => require(name));
    const imported = await outcome(() => import(name));
    console.log(JSON.stringify([name, required, imported]));
  }
})();
`,
    );
    const { code, stdout } = await packed.run("node", "both.cjs");
    expect(code).toBe(0);
    const outcomes = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as [string, unknown, unknown]);
    expect(outcomes.map(([name]) => name)).toEqual(entries.map(specifier));
    const withPeers = ["bigtable", "coordinator", "live/preact", "live/react"];
    for (const [name, required, imported] of outcomes) {
      if (withPeers.some((each) => name === `percolatordb/${each}`)) {
        expect(required, name).toMatch(/^(MISSING_PACKAGE|(ERR_)?MODULE_NOT_FOUND)$/);
        expect(imported, name).toMatch(/^(MISSING_PACKAGE|ERR_MODULE_NOT_FOUND)$/);
      } else {
        expect((required as string[]).length, name).toBeGreaterThan(0);
        expect(required, name).toEqual(imported);
      }
    }
  });

  test("every entry point can be imported by a strict TypeScript project", async () => {
    const imports = entries.map((entry, index) => `import * as entry${index} from "${specifier(entry)}";`);
    const uses = entries.map((_, index) => `entry${index}`).join(", ");
    await packed.write(
      "index.ts",
      `${imports.join("\n")}\nexport const entries: readonly object[] = [${uses}];\n`,
    );
    await packed.write(
      "tsconfig.json",
      JSON.stringify({
        compilerOptions: {
          module: "NodeNext",
          target: "ES2022",
          lib: ["ES2023", "ESNext.Disposable"],
          types: ["node"],
          typeRoots: [join(root, "node_modules/@types")],
          strict: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          skipLibCheck: false,
          noEmit: true,
        },
        files: ["index.ts"],
      }),
    );
    const { code, stdout } = await packed.run(
      process.execPath,
      join(root, "node_modules/typescript/bin/tsc"),
    );
    expect([code, stdout]).toEqual([0, ""]);
  });

  /** Returns the folders of LMDB and all of its dependencies, including its binaries. */
  async function lmdbFolders(): Promise<readonly string[]> {
    const { stdout } = await packed.run("npm", "query", "#lmdb, #lmdb *");
    return (JSON.parse(stdout) as readonly { readonly location: string }[]).map(({ location }) => location);
  }

  async function readTarball(): Promise<ArrayBuffer> {
    const bytes = await readFile(packed.tarball);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  }
});
