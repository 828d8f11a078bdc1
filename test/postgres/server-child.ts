/** A process that starts a PostgreSQL server of its own. It prints the server's folder, and waits. */
import { startPostgres } from "../../examples/support/postgres-server.js";

const { host } = await startPostgres();
process.stdout.write(`${host}\n`);
process.stdin.resume();
