import { connect } from "node:tls";
import type { Environment } from "../../environment/index.js";
import { CoordinatorError } from "../../errors/index.js";
import { pemsOf, type Security } from "../security/client-security.js";
import { parseAddress } from "../wire/address.js";

const maxMs = 1_000;

/**
 * Finds out by a TLS handshake of its own whether TLS is the reason for a failed connection,
 * because gRPC does not report that reliably. Undefined if TLS is not the reason, or if that is not
 * certain.
 */
export async function diagnose(
  address: string,
  { tls }: Security,
  environment: Environment,
): Promise<CoordinatorError | undefined> {
  const outcome = await shakeHands(address, tls, environment);
  if (tls === undefined) {
    if (outcome !== "secure") return undefined;
    return new CoordinatorError(
      `The coordinator at ${address} speaks TLS, and the client does not. Give the client \`tls\` (--tls-ca FILE).`,
      { reason: "tls" },
    );
  }
  if (outcome === "secure" || outcome === "unknown") return undefined;
  const code = outcome.code ?? "";
  if (code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER" || code.startsWith("ERR_SSL_PACKET")) {
    return new CoordinatorError(
      `The client speaks TLS, and what answers at ${address} does not (${outcome.message}). Start the coordinator with a ` +
        "certificate, or leave the client's `tls` out.",
      { reason: "tls", cause: outcome },
    );
  }
  if (!/CERT|SIGNATURE|ISSUER|ALTNAME|SSL|TLS/.test(code)) return undefined;
  return new CoordinatorError(
    `TLS with the coordinator at ${address} fails: ${outcome.message} (${code}). Give the client the authority of the ` +
      "coordinator's certificate (`tls.ca`, --tls-ca FILE), and see that the certificate names the address and has not expired.",
    { reason: "tls", cause: outcome },
  );
}

type Outcome = "secure" | "unknown" | NodeJS.ErrnoException;

/**
 * Does one TLS handshake. Without `tls` every certificate is accepted, because the only question is
 * whether there is one.
 */
function shakeHands(address: string, tls: Security["tls"], environment: Environment): Promise<Outcome> {
  const { host, port } = parseAddress(address, "The coordinator's address");
  const [ca, key, cert] = pemsOf(tls ?? {});
  const name = tls?.serverName ?? host;
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      ALPNProtocols: ["h2"],
      rejectUnauthorized: tls !== undefined,
      ...(isName(name) ? { servername: name } : {}),
      ...(ca === null ? {} : { ca }),
      ...(cert === null ? {} : { cert }),
      ...(key === null ? {} : { key }),
    });
    const end = (outcome: Outcome) => {
      timer.cancel();
      socket.destroy();
      resolve(outcome);
    };
    const timer = environment.setTimer(() => end("unknown"), maxMs);
    socket.once("secureConnect", () => end("secure"));
    socket.on("error", (error: NodeJS.ErrnoException) => end(error));
    socket.once("close", () => end("unknown"));
  });
}

/** Whether the host can be sent as a server name, which an IP address cannot. */
function isName(host: string): boolean {
  return !/^[\d.]+$/.test(host) && !host.includes(":");
}
