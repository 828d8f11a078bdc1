import { isDeepStrictEqual } from "node:util";
import { open } from "percolatordb";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/databases.js";
import { ProgramProcess } from "../../test/support/program-process.js";
import { audit, auditBank } from "./audit.js";
import { openAccounts } from "./load.js";
import { type Transfer, tables, transfers } from "./tables.js";

const accounts = 20;
const rounds = 4;
const tellers = ["north", "south"];
/** How many committed transfers each teller reports before it is killed. */
const before = [1, 40, 150, 300];

/**
 * Two processes make transfers in one folder, and each also audits the transfers of the other one.
 * Both are killed, and two new processes replace them.
 */
test("after kill -9 of every process the sums are right, and every reported transfer is there", async () => {
  const folder = await temporaryFolder();
  const running = new Set<ProgramProcess>();
  try {
    await using db = await open(folder.path, { tables, observers: [audit] });
    await openAccounts(db, accounts);
    const said = new Map<string, Transfer>();
    for (let round = 0; round < rounds; round++) {
      const processes = tellers.map((name) => {
        const args = [folder.path, `${name} ${round}`, String(accounts)];
        return new ProgramProcess("examples/bank/testing/teller.ts", args);
      });
      for (const process of processes) running.add(process);
      await Promise.all(processes.map((process) => killAfter(process, before[round]!)));
      for (const { lines } of processes) {
        for (const line of lines) {
          const [id, transfer] = JSON.parse(line) as [string, Transfer];
          said.set(id, transfer);
        }
      }
      // Audits at once, while everything that the killed processes left unfinished is still there.
      await using view = await db.snapshot();
      expect((await auditBank(view)).problems).toEqual([]);
    }
    await db.drain();
    await using view = await db.snapshot();
    const report = await auditBank(view);
    expect(report).toMatchObject({ waiting: 0, sum: 0, problems: [] });
    expect(report.transfers).toBeGreaterThanOrEqual(accounts + said.size);
    // Names each transfer that is not as it was reported, and whether reading it again or alone differs.
    const ids = [...said.keys()];
    const values = await view.getMany(transfers.transfer, ids);
    const wrong = ids.flatMap((id, i) =>
      isDeepStrictEqual(values[i], said.get(id)) ? [] : [[id, values[i]]],
    );
    const again = await Promise.all(
      wrong.map(async ([id]) => [said.get(id as string), await view.get(transfers.transfer, id as string)]),
    );
    expect({ wrong, again }).toEqual({ wrong: [], again: [] });
    expect(said.size).toBeGreaterThan(tellers.length * Math.max(...before));
    expect(await db.check()).toEqual([]);
  } finally {
    for (const process of running) await process.kill();
    await folder.remove();
  }
});

async function killAfter(process: ProgramProcess, transfers: number): Promise<void> {
  await process.said(() => process.lines.length >= transfers);
  await process.kill();
  expect(process.end).toBe("SIGKILL");
}
