import { open } from "percolatordb";
import { startPostgres } from "../../examples/support/postgres-server.js";
import { placeAt } from "../support/postgres/index.js";
import { CountingClients, counting } from "./counting-clients.js";

/** How many commits of all clients come before each crash. */
const commitsBetween = 150;

/**
 * Stops a server of its own at once, as in a crash, and restarts it, so many times under load.
 * Expects that each acknowledged commit is there once.
 */
export async function crashUnderLoad(crashes: number): Promise<void> {
  const server = await startPostgres();
  try {
    const { location } = placeAt(server.host, "crashing");
    // The server needs a while to recover. A deadline that is never reached keeps time out of the test.
    const db = await open(`${location}&deadlineMs=60000`, counting);
    const worker = db.work();
    const clients = new CountingClients(db);
    try {
      for (let crash = 0; crash < crashes; crash++) {
        await clients.progress(commitsBetween);
        await server.crash();
      }
      await clients.progress(commitsBetween);
    } finally {
      await clients.stop();
    }
    await db.drain();
    await worker.stop();
    // A second process sees the same, so nothing is only in a cache.
    await using other = await open(location, counting);
    await CountingClients.expectSound(other, [clients]);
    await db.close();
  } finally {
    await server.stop();
  }
}
