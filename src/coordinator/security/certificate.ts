import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { InvalidArgumentError } from "../../errors/index.js";
import { type Pem, pemOf } from "./pem.js";

/** Names of the options, for messages. */
interface Named {
  readonly cert: string;
  readonly key: string;
}

/** A valid certificate. */
export interface CheckedCertificate {
  /** When it expires, in milliseconds since 1970. */
  readonly expires: number;
  /** Whether the certificate names this host. */
  names(host: string): boolean;
  /** Its names as text, for messages. */
  readonly subjects: string;
}

/**
 * Refuses a certificate that has expired, is not valid yet, or does not belong to its key. `nowMs`
 * is in milliseconds since 1970.
 */
export function checkPair(what: Named, cert: Pem, key: Pem | undefined, nowMs: number): CheckedCertificate {
  const certificate = parsed(what.cert, () => new X509Certificate(pemOf(what.cert, cert)));
  const [from, expires] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (nowMs >= expires) {
    throw new InvalidArgumentError(
      `The certificate (${what.cert}) expired on ${showDate(expires)}. Replace it. If the date is wrong, set this machine's clock.`,
    );
  }
  if (nowMs < from) {
    throw new InvalidArgumentError(
      `The certificate (${what.cert}) is valid only from ${showDate(from)}. Check this machine's clock.`,
    );
  }
  if (key !== undefined) {
    const own = parsed(what.key, () => createPrivateKey(pemOf(what.key, key)));
    if (!certificate.checkPrivateKey(own)) {
      throw new InvalidArgumentError(
        `The certificate (${what.cert}) does not belong to the private key (${what.key}): give a certificate and a key that were made together.`,
      );
    }
  }
  return {
    expires,
    subjects: certificate.subjectAltName ?? certificate.subject,
    names: (host) =>
      (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined,
  };
}

function parsed<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    if (cause instanceof InvalidArgumentError) throw cause;
    throw new InvalidArgumentError(`The file or text of ${what} cannot be used: it must be PEM.`, { cause });
  }
}

export function showDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
