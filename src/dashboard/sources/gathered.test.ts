import { expect, test } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import type { Report, ReportRequest } from "../recording/report.js";
import { GatheredReports } from "./gathered.js";

test("names of transactions are asked of the processes, and asked once", async () => {
  const asked: number[][] = [];
  const reports = ({ who }: ReportRequest) => {
    if (who.length > 0) asked.push([...who]);
    const winners = who.includes(7) ? { 7: "import" } : {};
    return Promise.resolve([{ recorder: "r", newest: 0, transactions: [], winners } as unknown as Report]);
  };
  const gathered = new GatheredReports([{ name: "a process", reports }], systemEnvironment);
  expect([...(await gathered.names([7, 8]))]).toEqual([[7, "import"]]);
  expect([...(await gathered.names([7]))]).toEqual([[7, "import"]]);
  expect(asked).toEqual([[7, 8]]);
  expect((await gathered.names(Array.from({ length: 5_000 }, (_, index) => 100 + index))).size).toBe(0);
  expect(asked[1]).toHaveLength(500);
  gathered.close();
});
