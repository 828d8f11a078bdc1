import { InvalidArgumentError } from "../../errors/index.js";
import { parseAddress } from "../wire/address.js";
import { type CheckedCertificate, checkPair } from "./certificate.js";
import type { Pem } from "./pem.js";

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

/**
 * Throws for a certificate that no client would accept: it has expired, does not belong to its key,
 * or does not name the advertised host. Without `advertise`, the name is not checked, because
 * clients may expect another name (`serverName`).
 */
export function checkServerCertificate(
  tls: CoordinatorTls,
  { advertise }: { readonly advertise: string | undefined },
  nowMs: number,
): CheckedCertificate {
  const what = { cert: "tls.cert, --tls-cert FILE", key: "tls.key, --tls-key FILE" };
  const checked = checkPair(what, tls.cert, tls.key, nowMs);
  const host = advertise === undefined ? undefined : parseAddress(advertise, "`advertise`").host;
  if (host === undefined || checked.names(host)) return checked;
  throw new InvalidArgumentError(
    `The certificate (${what.cert}) does not name ${host}, the host by which clients reach this coordinator (\`advertise\`, --advertise). It names ` +
      `${checked.subjects}. Get a certificate that names the host. A wildcard is valid only under a domain of two labels or more.`,
  );
}
