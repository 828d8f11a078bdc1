import { leasedFeedName } from "../../live/index.js";
import type { Observer } from "../../observer/index.js";
import { counterOracle, type Oracle } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { systemTable } from "../../transaction/index.js";
import { ClientEnvironment } from "./client-environment.js";
import { ExploredProcess } from "./process.js";
import type { Program } from "./program.js";
import { settledByItself } from "./settle.js";
import type { Snapshot } from "./world.js";

/**
 * A clock that stays at 0. The store's counter then begins at 1, which keeps timestamps readable.
 */
const counting = Object.assign(new ClientEnvironment("store", { passed: 0, step: 0 }), { now: () => 0 });

/**
 * Prepares the start of all executions of a program: records its tables and observers, and runs its
 * setup.
 */
export async function prepare(program: Program): Promise<Snapshot> {
  const { atomicBatches = true, inlineBytes, mutationCells, remote } = program;
  const store: RowStore = memoryStore({
    environment: counting,
    atomicBatches,
    inlineBytes,
    mutationCells,
    remote,
  });
  let timestamp = 0;
  const oracle: Oracle =
    store.atomic === undefined
      ? { next: async () => ++timestamp, latest: () => timestamp }
      : counterOracle(store.atomic);
  const environment = new ClientEnvironment("setup", { passed: 0, step: 0 });
  environment.passTime = true;
  await store.prepare([systemTable]);
  const { commit } = program;
  const process = new ExploredProcess({
    name: "setup",
    store,
    oracle,
    environment,
    commit: commit === "two-phase" || store.atomic === undefined ? "two-phase" : "one-phase",
    observers: program.observers ?? [],
    alive: () => false,
    view: undefined,
  });
  await process.registry.register(program.tables ?? [], program.observers ?? [], program.feeds ?? []);
  if (program.asksWhatIsSettled === true) {
    const name = leasedFeedName({ observed: true });
    await process.registry.recordLeasedFeed(name, { columns: [], observed: true }, { retentionMs: 60_000 });
  }
  const register = (observers: readonly Observer[]) => process.registry.register([], observers);
  const settingUp = async () => {
    await program.setup?.(process.db, () => process.work(), register);
    await process.context.background.settled();
  };
  await settledByItself("`setup`", program.name, settingUp());
  return { store, timestamp, view: await process.registry.fresh() };
}
