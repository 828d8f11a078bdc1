// Asks a coordinator for its health by gRPC's own protocol, for probes that cannot speak TLS:
//   node health.mjs HOST:PORT [--tls-ca FILE] [--tls-name NAME] [--service NAME] [--timeout MS]
// Without --service: whether it serves, be it leader or standby. Exit code 0 for serving, 1 for anything else, 2 for wrong usage.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";

const serving = 1;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "tls-ca": { type: "string" },
    "tls-name": { type: "string" },
    service: { type: "string", default: "" },
    timeout: { type: "string", default: "3000" },
  },
});
const [address] = positionals;
const timeoutMs = Number(values.timeout);
if (address === undefined || positionals.length > 1 || !(timeoutMs > 0)) {
  complain(
    "usage: node health.mjs HOST:PORT [--tls-ca FILE] [--tls-name NAME] [--service NAME] [--timeout MS]",
  );
  process.exit(2);
}

// The one that the package itself uses, wherever it is installed.
const { Client, credentials } = createRequire(createRequire(import.meta.url).resolve("percolatordb"))(
  "@grpc/grpc-js",
);
const ca = values["tls-ca"];
const name = values["tls-name"];
const client = new Client(
  address,
  ca === undefined ? credentials.createInsecure() : credentials.createSsl(readFileSync(ca)),
  // The certificate names the address by which clients come, not the one that a probe uses.
  name === undefined ? {} : { "grpc.ssl_target_name_override": name, "grpc.default_authority": name },
);

// Two messages of one field each: a name of less than 128 bytes, and a number of less than 128.
const encode = (service) => {
  const bytes = Buffer.from(service);
  return bytes.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.of(0x0a, bytes.length), bytes]);
};
const decode = (bytes) => (bytes[0] === 0x08 ? bytes[1] : 0);

client.makeUnaryRequest(
  "/grpc.health.v1.Health/Check",
  encode,
  decode,
  values.service,
  { deadline: Date.now() + timeoutMs },
  (error, status) => {
    client.close();
    const isServing = error === null && status === serving;
    if (!isServing) {
      complain(
        error === null ? `${address} does not serve (status ${status})` : `${address}: ${error.message}`,
      );
    }
    // A handshake with a coordinator that is stopped never ends, and would keep this process.
    process.exit(isServing ? 0 : 1);
  },
);

function complain(text) {
  process.stderr.write(`${text}\n`);
}
