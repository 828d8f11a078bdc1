import { describe, expect, test } from "vitest";
import { judge } from "./checker/judge.js";
import { promised } from "./checker/models.js";
import { readEdn, writeEdn } from "./edn.js";
import { playHistory, type RunOptions } from "./run.js";

const seed = process.env.PERCOLATOR_SEED ?? String(Math.floor(Math.random() * 1e9));

const common: Omit<RunOptions, "store" | "commit" | "isolation"> = {
  workloads: ["list-append", "rw-register"],
  processes: 3,
  clients: 6,
  seconds: 4,
  kills: 2,
  stops: 1,
  cuts: 0,
  crashes: 0,
  rate: 600,
  seed,
};

/** Faults that only a server has, at the end of a network. */
const ofServer = { cuts: 2, crashes: 2 };

// `npm run histories` plays longer histories, and histories on Bigtable.
describe.each([
  { store: "lmdb", commit: "auto", isolation: "snapshot" },
  { store: "lmdb", commit: "mixed", isolation: "serializable" },
  { store: "postgres", commit: "auto", isolation: "snapshot" },
  { store: "postgres", commit: "mixed", isolation: "serializable" },
] as const)("on $store, commit $commit, $isolation", ({ store, commit, isolation }) => {
  test(`seed ${seed}: processes are killed, stopped and cut off, the server crashes, and their history is still strict`, async () => {
    const faults: string[] = [];
    const onFault: RunOptions["onFault"] = ({ type }) => faults.push(type);
    const more = store === "postgres" ? ofServer : {};
    const { histories, problems } = await playHistory({
      ...common,
      ...more,
      store,
      commit,
      isolation,
      onFault,
    });
    expect(problems).toEqual([]);
    const expected = ["kill", "kill", "stop"];
    if (store === "postgres") expected.push("crash", "crash", "cut", "cut");
    expect(faults.sort()).toEqual(expected.sort());
    expect([...histories.keys()]).toEqual(["list-append", "rw-register"]);
    for (const [workload, operations] of histories) {
      const edn = writeEdn(operations);
      const { anomalies, committed } = judge(readEdn(edn), promised[isolation]);
      expect(anomalies, `${workload}, seed ${seed}`).toEqual([]);
      expect(committed).toBeGreaterThan(50);
      // Nine clients have this workload. A client gets a new process number after an unknown
      // outcome, and when its process was killed. So there are more than nine numbers.
      expect(new Set(operations.map(({ process }) => process)).size).toBeGreaterThan(9);
      expect(edn).toMatch(workload === "list-append" ? /\[:append \d+ \d+\]/ : /\[:w \d+ \d+\]/);
    }
  }, 300_000);
});
