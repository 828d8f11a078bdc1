import { observer } from "../../../src/index.js";
import type { ClientHandle, Program } from "../../../src/testing/exploration/index.js";
import { once, pages } from "./tables.js";

/** An observer whose runs end their own process. */
const killer = (attempts: number, run: () => unknown) =>
  observer(
    "killer",
    pages.text,
    async (tx, { row }) => {
      await run();
      tx.set(pages.length, row, 1);
    },
    { attempts },
  );

const change = ({ db }: ClientHandle, text: string) =>
  db.transact((tx) => tx.set(pages.text, "p", text), once);

/**
 * Several processes in sequence. Each process dies while it runs the observer. After each death the
 * cell changes, before or after the next process has noticed the death. The first death uses up no
 * attempt, because it does not show which run caused it. After that death, workers record each run
 * before they start it.
 */
function killing(attempts: number): Program {
  const lives = Array.from({ length: attempts + 2 }, (_, index) => `life ${index + 1}`);
  const live = (index: number) => async (client: ClientHandle) => {
    if (index > 0 && !(await client.outlives(lives[index - 1]!))) return;
    await client.work({ observers: [killer(attempts, () => client.die())] });
  };
  return {
    name: `a cell that ends each process that runs it and changes each time, and an observer of ${attempts === 1 ? "one attempt" : "two attempts"}`,
    tables: [pages],
    // The observer of the healing client ends no process.
    observers: [killer(attempts, () => undefined)],
    sessions: true,
    setup: async (db) => {
      await db.transact((tx) => tx.set(pages.text, "p", "0"), once);
    },
    clients: {
      ...Object.fromEntries(lives.map((name, index) => [name, live(index)])),
      writer: async (client) => {
        for (const name of lives.slice(0, -1)) {
          if (!(await client.outlives(name))) return;
          await change(client, `after ${name}`);
        }
      },
    },
    ended: (ends) => {
      const deaths = Object.values(ends).filter(({ outcome }) => outcome === "stopped").length;
      if (deaths > attempts + 1) throw new Error(`it ended ${deaths} processes before it was parked`);
    },
  };
}

export const killingCell = killing(1);
export const killingCellTwice = killing(2);
