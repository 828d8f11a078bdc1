import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { candidatesOf, type Kind, kinds, mutated } from "./candidates.js";
import { allCandidates, drawn, isParsed } from "./draw.js";
import { folders } from "./rooms.js";
import { nearTests, quickSuites, wideSuites } from "./suites.js";

const source = `
import { a } from "./a.js";

interface Shape { readonly size: 1 | 2 }

/** if (x < 1) return; */
async function step(x: number, list: readonly string[]): Promise<number> {
  if (x < 1) return 0;
  const first = await read(x);
  this.count = list.length;
  await write(first - 1);
  await flush();
  if (list.length > 0 && isOpen(first)) done();
  const kind = first === 3 ? "three" : "other";
  this.events.emit("step", { x: x + 1, isBig: x > 10 });
  if (this.events.heard("step")) return 1;
  throw new Error(x > 3 ? "big" : \`small \${x + 1}\`);
}

function refused(x: number): StoreError {
  return x > 3 ? tooBig() : tooSmall();
}

class Words {
  toString() { return this.x > 1 && this.y ? "a" : "b"; }
}
`;

const found = candidatesOf("src/oracle/step.ts", source);
const changes = (kind: Kind) => found.filter((each) => each.kind === kind).map(({ change }) => change);

describe("candidates", () => {
  test("comparisons are off by one", () => {
    expect(changes("off by one")).toEqual(["x < 1 → x <= 1", "list.length > 0 → list.length >= 0"]);
  });

  test("equalities and conditions are negated", () => {
    expect(changes("negated")).toEqual([
      "list.length > 0 && isOpen(first) → !(list.length > 0 && isOpen(first))",
      "first === 3 → first !== 3",
    ]);
  });

  test("guards are removed", () => {
    expect(changes("guard removed")).toEqual(["if (x < 1) return 0; → ;"]);
  });

  test("awaits are removed", () => {
    expect(changes("await removed")).toEqual([
      "await read(x) → read(x)",
      "await write(first - 1) → write(first - 1)",
      "await flush() → flush()",
    ]);
  });

  test("steps are swapped if neither uses the other's result", () => {
    expect(changes("swapped")).toEqual([
      "const first = await read(x); this.count = list.length; → this.count = list.length; const first = await read(x);",
      "this.count = list.length; await write(first - 1); → await write(first - 1); this.count = list.length;",
      "await write(first - 1); await flush(); → await flush(); await write(first - 1);",
    ]);
  });

  test("a 1 that is added or subtracted is removed", () => {
    expect(changes("1 removed")).toEqual(["first - 1 → first"]);
  });

  test("an operand is removed", () => {
    expect(changes("operand removed")).toEqual([
      "list.length > 0 && isOpen(first) → true && isOpen(first)",
      "list.length > 0 && isOpen(first) → list.length > 0 && true",
    ]);
  });

  test("there are candidates of each kind, and each gives a text that parses", () => {
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(kinds));
    for (const candidate of found) {
      const text = mutated(source, candidate);
      expect(text).not.toBe(source);
      const { diagnostics } = ts.transpileModule(text, { reportDiagnostics: true });
      expect(diagnostics, candidate.change).toEqual([]);
    }
  });
});

describe("drawing", () => {
  const places = (candidates: readonly { readonly path: string; readonly start: number }[]) =>
    candidates.map(({ path, start }) => `${path} ${start}`);

  test("a seed determines the order; folders and kinds come in turn", async () => {
    const root = await mkdtemp(join(tmpdir(), "percolator-draw-"));
    try {
      for (const folder of folders) {
        await mkdir(join(root, folder, "protos"), { recursive: true });
        for (const name of ["step.ts", "step.test.ts", "test-step.ts", "protos/codec.ts", "notes.md"])
          await writeFile(join(root, folder, name), source);
      }
      const all = await allCandidates(root);
      expect(new Set(all.map(({ path }) => path))).toEqual(
        new Set(folders.map((folder) => `${folder}/step.ts`)),
      );
      const order = drawn(all, "a");
      expect(places(order).toSorted()).toEqual(places(all).toSorted());
      expect(places(drawn(all, "a"))).toEqual(places(order));
      expect(places(drawn(all, "b"))).not.toEqual(places(order));
      for (const round of [order.slice(0, folders.length), order.slice(folders.length, 2 * folders.length)])
        expect(new Set(round.map(({ path }) => dirname(path))).size).toBe(folders.length);
      const own = order.filter(({ path }) => path.startsWith("src/oracle/")).slice(0, kinds.length);
      expect(new Set(own.map(({ kind }) => kind)).size).toBe(kinds.length);
      expect(await isParsed(root, order[0]!)).toBe(true);
      expect(await isParsed(root, { ...order[0]!, replacement: "if (" })).toBe(false);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });

  test("each folder has suites, first the tests that import the file", async () => {
    const root = fileURLToPath(new URL("../../", import.meta.url));
    const [near, room] = await quickSuites(root, "src/oracle/leader.ts");
    expect(near).toMatchObject({
      name: "near",
      tests: expect.arrayContaining(["src/oracle/leader.test.ts"]),
    });
    expect(room).toMatchObject({ name: "room", tests: expect.arrayContaining(["src/oracle"]) });
    for (const folder of folders) expect(wideSuites(`${folder}/step.ts`).at(-1)?.name).toBe("rest");
    expect(await nearTests(root, "test/mutation/draw.ts")).toEqual(["test/mutation/candidates.test.ts"]);
  });
});
