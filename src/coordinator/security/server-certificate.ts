import { createSecureContext, type SecureContextOptions } from "node:tls";
import { InvalidArgumentError } from "../../errors/index.js";
import { parseAddress } from "../wire/address.js";
import { type CheckedCertificate, checkPair } from "./certificate.js";
import { optionalPem, type Pem, pemOf } from "./pem.js";

/** TLS of a coordinator. */
export interface CoordinatorTls {
  /** The coordinator's certificate, with the chain to its authority. */
  readonly cert: Pem;
  /** The certificate's private key. */
  readonly key: Pem;
  /**
   * Authorities of clients' certificates. If given, a client can connect only with a certificate
   * that one of these authorities has signed.
   */
  readonly ca?: Pem | undefined;
}

/** What a server needs for its TLS connections. */
export function contextOf(tls: CoordinatorTls): SecureContextOptions {
  const pair = { cert: [pemOf("tls.cert", tls.cert)], key: [pemOf("tls.key", tls.key)] };
  const ca = optionalPem("tls.ca", tls.ca);
  return ca === null ? pair : { ca, ...pair };
}

/**
 * Throws for a certificate that no client would accept: it has expired, does not belong to its key,
 * cannot be used with its chain, or does not name the advertised host. Without `advertise`, the name is not checked, because
 * clients may expect another name (`serverName`).
 */
export function checkServerCertificate(
  tls: CoordinatorTls,
  { advertise }: { readonly advertise: string | undefined },
  nowMs: number,
): CheckedCertificate {
  const what = { cert: "tls.cert, --tls-cert FILE", key: "tls.key, --tls-key FILE" };
  const checked = checkPair(what, tls.cert, tls.key, nowMs);
  checkContext(tls, what.cert);
  const host = advertise === undefined ? undefined : parseAddress(advertise, "`advertise`").host;
  if (host === undefined || checked.names(host)) return checked;
  throw new InvalidArgumentError(
    `The certificate (${what.cert}) does not name ${host}, the host by which clients reach this coordinator (\`advertise\`, --advertise). It names ` +
      `${checked.subjects}. Get a certificate that names the host. A wildcard is valid only under a domain of two labels or more.`,
  );
}

/** Only the first certificate is checked before. The server would refuse each connection with a damaged chain. */
function checkContext(tls: CoordinatorTls, what: string): void {
  const context = contextOf(tls);
  try {
    createSecureContext(context);
  } catch (error) {
    throw new InvalidArgumentError(
      `TLS cannot use the certificate (${what}) with its chain and authorities: ${(error as Error).message}. Check that each file is whole.`,
      { cause: error },
    );
  }
}
