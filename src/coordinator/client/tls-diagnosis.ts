import { connect } from "node:tls";
import type { Environment } from "../../environment/index.js";
import { CoordinatorError } from "../../errors/index.js";
import { pemsOf, type Security } from "../security/client-security.js";
import { parseAddress } from "../wire/address.js";

const maxMs = 1_000;

/**
 * Does a separate TLS handshake to find out whether TLS is the reason for a failed connection. gRPC
 * does not report that reliably. Resolves to undefined if TLS is not the reason, or if the reason
 * is uncertain.
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
      `The coordinator at ${address} uses TLS, but the client does not. Give the client \`tls\` (--tls-ca FILE).`,
      { reason: "tls" },
    );
  }
  if (outcome === "secure" || outcome === "unknown") return undefined;
  const code = outcome.code ?? "";
  if (code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER" || code.startsWith("ERR_SSL_PACKET")) {
    return new CoordinatorError(
      `The client uses TLS, but the server at ${address} does not (${outcome.message}). Start the coordinator with a ` +
        "certificate, or leave out the client's `tls`.",
      { reason: "tls", cause: outcome },
    );
  }
  if (!/CERT|SIGNATURE|ISSUER|ALTNAME|SSL|TLS/.test(code)) return undefined;
  return new CoordinatorError(
    `TLS with the coordinator at ${address} fails: ${outcome.message} (${code}). Give the client the authority of the ` +
      "coordinator's certificate (`tls.ca`, --tls-ca FILE), and check that the certificate names the address and has not expired.",
    { reason: "tls", cause: outcome },
  );
}

type Outcome = "secure" | "unknown" | NodeJS.ErrnoException;

/**
 * Does one TLS handshake. Without `tls` every certificate is accepted, because the only question is
 * whether the server uses TLS.
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

/** Whether TLS can send the host as the server name. An IP address cannot be one. */
function isName(host: string): boolean {
  return !/^[\d.]+$/.test(host) && !host.includes(":");
}
