import { describe, expect, it } from "vitest";
import { nearLimit } from "./finding.js";
import { examineMachine, nodeFinding } from "./machine.js";

describe("the machine", () => {
  it("reports a Node that the package does not support", () => {
    expect(nodeFinding("18.20.1")).toMatchObject({
      state: "problem",
      what: "18.20.1 is not supported",
    });
    for (const version of ["20.9.0", "21.7.3", "22.11.0"])
      expect(nodeFinding(version), version).toMatchObject({ state: "problem" });
    for (const version of ["20.19.0", "22.12.0", "23.0.0", "100.0.0"])
      expect(nodeFinding(version), version).toMatchObject({ state: "ok" });
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
