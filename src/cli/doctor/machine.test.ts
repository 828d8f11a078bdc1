import { describe, expect, it } from "vitest";
import { nearLimit } from "./finding.js";
import { examineMachine, nodeFinding } from "./machine.js";

describe("the machine", () => {
  it("reports an outdated Node", () => {
    expect(nodeFinding("18.20.1")).toMatchObject({
      state: "problem",
      what: expect.stringContaining("18.20.1 is older"),
    });
    expect(nodeFinding("20.9.0")).toMatchObject({ state: "problem" });
    expect(nodeFinding("20.19.0")).toMatchObject({ state: "ok" });
    expect(nodeFinding("100.0.0")).toMatchObject({ state: "ok" });
  });

  it("shows the running versions", async () => {
    const [node, own] = await examineMachine(true);
    expect(node).toMatchObject({ check: "node", state: "ok" });
    expect(own!.what).toMatch(/^percolatordb \d+\.\d+\.\d+, LMDB \d+\.\d+\.\d+$/);
  });

  it("warns before a limit is reached", () => {
    const states = [79, 80, 94, 95].map((used) => nearLimit("x", used, 100, String, "do").state);
    expect(states).toEqual(["ok", "warning", "warning", "problem"]);
  });
});
