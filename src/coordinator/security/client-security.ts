import { optionalPem, type Pem } from "./pem.js";

/** TLS of a client. */
export interface ClientTls {
  /**
   * Authorities that may have signed the certificate of the coordinator. Default: those that Node
   * trusts.
   */
  readonly ca?: Pem | undefined;
  /** The client's own certificate with its key, if the coordinator asks for one. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
  /**
   * The name in the coordinator's certificate, if it differs from the host in the coordinator's
   * address.
   */
  readonly serverName?: string | undefined;
}

/** The current TLS settings and token of a client. Their files may change while it runs. */
export interface Security {
  readonly tls: ClientTls | undefined;
  readonly token: string | undefined;
}

/**
 * TLS settings and token as the options give them. If an option is a function, it is called each
 * time a value is needed.
 */
export interface SecurityOptions {
  readonly tls?: ClientTls | boolean | (() => ClientTls | undefined) | undefined;
  readonly token?: string | (() => string | undefined) | undefined;
}

export function securityOf({ tls, token }: SecurityOptions): Security {
  return {
    get tls() {
      const given = typeof tls === "function" ? tls() : tls;
      return given === true ? {} : given === false ? undefined : given;
    },
    get token() {
      return typeof token === "function" ? token() : token;
    },
  };
}

/** The authorities, the key and the certificate, in this order. Null for one that is not given. */
export function pemsOf({ ca, key, cert }: ClientTls): [Buffer | null, Buffer | null, Buffer | null] {
  return [optionalPem("tls.ca", ca), optionalPem("tls.key", key), optionalPem("tls.cert", cert)];
}
