import { InvalidArgumentError } from "../../errors/index.js";
import { parseAddress } from "../wire/address.js";
import { type CheckedCertificate, checkPair } from "./certificate.js";
import type { Pem } from "./pem.js";

/** TLS of a coordinator. */
export interface CoordinatorTls {
  /** Its certificate, with the chain to its authority. */
  readonly cert: Pem;
  /** The certificate's private key. */
  readonly key: Pem;
  /**
   * Authorities of clients' certificates. If given, only clients with a certificate of one of them
   * can connect.
   */
  readonly ca?: Pem | undefined;
}

/**
 * Refuses a certificate that no client would accept: one that has expired, has another key, or does
 * not name the advertised address. Without `advertise` the name is not checked, because clients may
 * expect another one (`serverName`).
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
    `The certificate (${what.cert}) does not name ${host}, by which clients call this coordinator (\`advertise\`, --advertise); it names ` +
      `${checked.subjects}. Get one that names it; a wildcard counts only under a domain of two labels or more.`,
  );
}
