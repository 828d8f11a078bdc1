/** A coordinator in a process of its own, on a store in its memory, until its parent lets go of it. */
import { systemEnvironment } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { startCoordinator } from "../../src/coordinator/index.js";
import { endWithParent } from "../../test/support/end-with-parent.js";

/** What the parent is told: where it listens, and at its end how much CPU time it took. */
export interface OracleServerReport {
  readonly address?: string;
  readonly cpuMs: number;
}

const coordinator = await startCoordinator({
  store: memoryStore({ atomicBatches: false }),
  environment: systemEnvironment,
  onChange: ({ role }) => {
    if (role === "leading") process.send?.({ address: coordinator.address, cpuMs: cpuMs() });
  },
});

process.on("message", () => {
  if (process.connected) process.send?.({ cpuMs: cpuMs() });
});
endWithParent();

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
