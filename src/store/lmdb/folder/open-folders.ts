import { join } from "node:path";
import type { Environment } from "../../../environment/index.js";
import { StoreError } from "../../../errors/index.js";
import { flushUnderPermissions } from "../file/flushed-head.js";
import { dataFileName, prepareFolder } from "../file/folder.js";
import { stuckLock } from "../file/lock-watch.js";
import type { EnvironmentOptions } from "../file/opening.js";
import { Openings } from "../file/openings.js";
import { SharedFolder } from "./shared-folder.js";

const folders = new Map<string, SharedFolder>();
/** The last step of opening or closing each folder. Steps on one folder run one after another. */
const turns = new Map<string, Promise<unknown>>();

/** Opens the folder, or shares it with the stores that already have it open. */
export async function acquireFolder(
  path: string,
  options: EnvironmentOptions,
  environment: Environment,
): Promise<SharedFolder> {
  const real = await prepareFolder(path, options);
  return inTurn(real, async () => {
    const known = folders.get(real);
    if (known !== undefined) {
      if (known.readOnly && !options.readOnly) {
        throw new StoreError(
          `The database in ${path} is already open with \`readOnly\` in this process. Close that store first.`,
        );
      }
      known.users++;
      return known;
    }
    const flushed = options.readOnly ? undefined : await flushUnderPermissions(join(real, dataFileName));
    const openings = new Openings(real, environment);
    // Before it looks at the lock file, this thread must be the only one that opens the folder. If another
    // thread opened the lock file between a look's opening and closing of it, the closing would release the
    // locks of that thread. The next process would then take the folder for unused.
    await openings.announce();
    try {
      const held = options.readOnly ? undefined : await stuckLock(real, environment);
      if (held === undefined) await openings.writesEnded();
      const shared = new SharedFolder(real, options, environment, openings, flushed, held);
      folders.set(real, shared);
      return shared;
    } finally {
      openings.withdraw();
    }
  });
}

/** Closes the folder if no store uses it any more. */
export async function releaseFolder(shared: SharedFolder): Promise<void> {
  await inTurn(shared.path, async () => {
    shared.users--;
    if (shared.users > 0) return;
    folders.delete(shared.path);
    await shared.close();
  });
}

async function inTurn<T>(path: string, action: () => T | Promise<T>): Promise<T> {
  const turn = (turns.get(path) ?? Promise.resolve()).then(action, action);
  turns.set(path, turn);
  try {
    return await turn;
  } finally {
    if (turns.get(path) === turn) turns.delete(path);
  }
}
