// Whether a worker of this machine, or of this container, shows signs of life in the database, for probes:
//   node worker-alive.mjs LOCATION
// A worker whose event loop is blocked shows none. Speaks with the coordinator by the variables that workers go by. Exit code 0 for
// alive, 1 for not, 2 for wrong usage.
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { open } from "percolatordb";

const [location, ...rest] = process.argv.slice(2);
if (location === undefined || rest.length > 0) {
  complain("usage: node worker-alive.mjs LOCATION");
  process.exit(2);
}

try {
  const db = await open(location, { create: false, collectEveryMs: 0, ...coordinator() });
  const { sessions } = await db.status().finally(() => db.close());
  const isHere = ({ process: name }) => name.startsWith(`${hostname()}/`);
  if (![...sessions.values()].some(isHere)) {
    complain(`no worker of ${hostname()} is among the ${sessions.size} that live`);
    process.exitCode = 1;
  }
} catch (error) {
  complain(error.message);
  process.exitCode = 1;
}

/** What the environment says of the coordinator; a folder has none. */
function coordinator() {
  const { PERCOLATOR_TOKEN_FILE: token, PERCOLATOR_TLS_CA: ca } = process.env;
  if (!location.includes("://") || (!token && !ca)) return {};
  const secrets = {
    ...(token && { token: readFileSync(token, "utf8").trim().split(/\r?\n/)[0] }),
    ...(ca && { tls: { ca: readFileSync(ca, "utf8") } }),
  };
  return { coordinator: secrets };
}

function complain(text) {
  process.stderr.write(`${text}\n`);
}
