/**
 * A coordinator in its own process, on a store that its parent lends to it or on a folder. Prints
 * each change of its state on a line.
 */
import { systemEnvironment } from "percolatordb";
import { startCoordinator } from "../../src/coordinator/index.js";
import { endWithParent } from "../support/end-with-parent.js";
import { lentStore } from "./lent-store.js";
import { openSharedStore } from "./shared-store.js";

endWithParent();

const [leaseMs, folder] = process.argv.slice(2);
const store = folder === undefined ? lentStore() : await openSharedStore(folder);
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

const coordinator = await startCoordinator({
  store,
  environment: systemEnvironment,
  leaseMs: Number(leaseMs),
  onChange: ({ role, epoch }) => say({ role, epoch }),
  onFailure: ({ doing, error }) => say({ doing, error: String(error) }),
});
say({ address: coordinator.address });

process.once("SIGTERM", () => {
  void coordinator
    .stop()
    .then(() => store.close())
    .then(() => process.exit(0));
});
