import { expect, test } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import type { Report, ReportRequest } from "../recording/report.js";
import { GatheredReports } from "./gathered.js";

test("who wrote is asked of the processes, and asked once", async () => {
  const asked: number[][] = [];
  const reports = ({ who }: ReportRequest) => {
    if (who.length > 0) asked.push([...who]);
    const winners = who.includes(7) ? { 7: "import" } : {};
    const known = {
      recorder: "r",
      process: "machine/1",
      newest: 0,
      transactions: [],
      observers: { import: {} },
    };
    return Promise.resolve([{ ...known, winners } as unknown as Report]);
  };
  const gathered = new GatheredReports([{ name: "a process", reports }], systemEnvironment);
  const writer = { name: "import", isObserver: true, process: "machine/1" };
  expect([...(await gathered.writers([7, 8]))]).toEqual([[7, writer]]);
  expect([...(await gathered.writers([7]))]).toEqual([[7, writer]]);
  expect(asked).toEqual([[7, 8]]);
  expect((await gathered.writers(Array.from({ length: 5_000 }, (_, index) => 100 + index))).size).toBe(0);
  expect(asked[1]).toHaveLength(500);
  gathered.close();
});
