import fc from "fast-check";
import { describe, test } from "vitest";
import { atTheEnd, type Command, commands } from "./model/commands.js";
import { ModelSession, Session } from "./model/session.js";
import { commandsOptions, runs } from "./support/runs.js";
import { storeKinds } from "./support/stores.js";

/** Runs commands on an empty database, and then the commands that end every run. */
async function runAgainstModel(kind: (typeof storeKinds)[number], given: Iterable<Command>): Promise<void> {
  const real = await Session.start(kind);
  const model = new ModelSession();
  try {
    await fc.asyncModelRun(() => ({ model, real }), given);
    for (const command of atTheEnd) await command.run(model, real);
  } finally {
    await real.end();
  }
}

/** Fewer where a command takes longer. */
function runsOn({ store, commit }: (typeof storeKinds)[number]): number {
  if (store === "postgres") return commit === "two-phase" ? 1 : 2;
  return store === "lmdb" ? 4 : 10;
}

describe.each(storeKinds)("the whole interface on $store, commit $commit", (kind) => {
  test("behaves like simple maps of versions, whatever is called", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, commandsOptions(100)), (given) => runAgainstModel(kind, given)),
      runs(runsOn(kind)),
    );
  });
});
