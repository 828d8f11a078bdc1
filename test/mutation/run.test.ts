import { describe, expect, test } from "vitest";
import { Compiler } from "./compile.js";
import { failureIn } from "./run.js";
import { judged, offByOne, SmallProject } from "./small-project.js";

const imports = 'import { expect, test } from "vitest"; import { isFew } from "./count.js";\n';
const killer = `${imports} test("three is not few", () => { expect(isFew(3)).toBe(false); });`;
const idle = `${imports} test("two is few", () => { expect(isFew(2)).toBe(true); });`;
const red = `${imports} test("nothing is few", () => { expect(isFew(2)).toBe(false); });`;
const hanging = `${imports} test("ends", async () => { if (isFew(3)) await new Promise(() => {}); });`;

describe("a mutant", () => {
  test("is killed by the test that fails", async () => {
    const { verdict } = await judged({ "src/oracle/a.test.ts": idle, "src/oracle/b.test.ts": killer });
    expect(verdict).toMatchObject({ outcome: "killed", suite: "near", isHang: false });
    expect(verdict.test).toBe("src/oracle/b.test.ts: three is not few");
  });

  test("survives tests that pass", async () => {
    const { verdict } = await judged({ "src/oracle/a.test.ts": idle });
    expect(verdict.outcome).toBe("survived");
  });

  test("is not killed by a test that also fails without it", async () => {
    const { verdict, reports } = await judged({ "src/oracle/a.test.ts": red });
    expect(verdict.outcome).toBe("survived");
    expect(reports.join("\n")).toContain("nothing is few fails without the mutant too");
  });

  test("is killed by a test after one that also fails without it, at which the first run ended", async () => {
    const { verdict } = await judged({ "src/oracle/a.test.ts": red, "src/oracle/b.test.ts": killer });
    expect(verdict.test).toBe("src/oracle/b.test.ts: three is not few");
  });

  test("is killed by a deadline if a test waits forever, and the report says so", async () => {
    const { verdict } = await judged({ "src/oracle/a.test.ts": hanging }, { testTimeoutMs: 1_000 });
    expect(verdict).toMatchObject({ outcome: "killed", test: "src/oracle/a.test.ts: ends", isHang: true });
  });

  test("does not compile if its types are wrong, but does if it leaves a name unused", async () => {
    await using project = await SmallProject.of({});
    const compiler = new Compiler(project.root);
    const mutant = offByOne();
    expect(compiler.errorOf(mutant)).toBeUndefined();
    expect(compiler.errorOf({ ...mutant, replacement: "true" })).toBeUndefined();
    expect(compiler.errorOf({ ...mutant, replacement: "count.size > 3" })).toContain("'size' does not exist");
    expect(compiler.errorOf({ ...mutant, replacement: "count <" })).toContain("expected");
    expect(compiler.errorOf(mutant)).toBeUndefined();
  });
});

describe("a report names", () => {
  const report = (...results: readonly object[]) =>
    JSON.stringify({
      testResults: results.map((each, i) => ({ name: `/copy/src/${i}.test.ts`, message: "", ...each })),
    });
  const failed = (message: string) => ({
    status: "failed",
    assertionResults: [
      { status: "passed", fullName: "b is c", failureMessages: [] },
      { status: "failed", fullName: "a is b", failureMessages: [message] },
    ],
  });
  const unloaded = { status: "failed", assertionResults: [], message: "no such file" };

  test("the test that failed, rather than a file that did not load", () => {
    expect(failureIn(report(unloaded, failed("no")), "/copy")).toEqual({
      file: "src/1.test.ts",
      test: "src/1.test.ts: a is b",
      isHang: false,
      message: "no",
    });
  });

  test("a hang if a test exceeded its deadline, but not for an error that mentions time", () => {
    expect(failureIn(report(failed("Error: Test timed out in 9ms.")), "/copy")?.isHang).toBe(true);
    const hook = { ...unloaded, message: "Hook timed out in 9ms." };
    expect(failureIn(report(hook), "/copy")?.isHang).toBe(true);
    expect(
      failureIn(report(failed("TimeoutError: The transaction timed out in 9 ms.")), "/copy")?.isHang,
    ).toBe(false);
  });

  test("a file that does not load, or nothing", () => {
    expect(failureIn(report(unloaded), "/copy")?.test).toBe("src/0.test.ts (does not load)");
    expect(failureIn(report({ status: "passed", assertionResults: [] }), "/copy")).toBeUndefined();
  });
});
