/** A process with a session. It prints when it has joined, and runs until it is killed. */
import { systemEnvironment } from "percolatordb";
import { connectCoordinator } from "../../src/coordinator/index.js";

const [address, session] = process.argv.slice(2);
const { cluster } = connectCoordinator({ environment: systemEnvironment, addresses: [address!] });
await cluster.join(session!);
await cluster.claim(Buffer.from("claimed"));
await cluster.busy();
process.stdout.write("joined\n");
