// Checks a coordinator with gRPC's health checking protocol, for probes that cannot use TLS:
//   node health.mjs HOST:PORT [--tls-ca FILE] [--tls-name NAME] [--service NAME] [--timeout MS]
// Without --service, a coordinator counts as serving both as the leader and as a standby.
// Exit code: 0 if the coordinator serves, 2 for wrong usage, 1 for anything else.
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

// Loads the copy of @grpc/grpc-js that percolatordb itself uses.
const { Client, credentials } = createRequire(createRequire(import.meta.url).resolve("percolatordb"))(
  "@grpc/grpc-js",
);
const ca = values["tls-ca"];
const name = values["tls-name"];
const client = new Client(
  address,
  ca === undefined ? credentials.createInsecure() : credentials.createSsl(readFileSync(ca)),
  // A probe may use another address than clients do. The certificate is checked for the clients'
  // name.
  name === undefined ? {} : { "grpc.ssl_target_name_override": name, "grpc.default_authority": name },
);

// The request has one field, a name of less than 128 bytes. The answer has one field, a number
// below 128.
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
    // If the coordinator is paused, the TLS handshake never ends and would keep this process alive.
    process.exit(isServing ? 0 : 1);
  },
);

function complain(text) {
  process.stderr.write(`${text}\n`);
}
