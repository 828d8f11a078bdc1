import { InvalidArgumentError } from "../../errors/index.js";
import { parseAddress } from "../wire/address.js";
import { type CheckedCertificate, checkPair } from "./certificate.js";
import type { Pem } from "./pem.js";

/** TLS at the coordinator's side. */
export interface CoordinatorTls {
  /** Its certificate, with the chain to its authority. */
  readonly cert: Pem;
  /** The certificate's private key. */
  readonly key: Pem;
  /** Authorities of clients' certificates. Where given, only clients with a certificate of one of them may connect. */
  readonly ca?: Pem | undefined;
}

/**
 * Refuses a certificate that no client would take: one that has expired, is of another key, or does not name the address that clients are
 * told of. Clients that are told another name (`serverName`) take others, so an address that was not given is not compared.
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
