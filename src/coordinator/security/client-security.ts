import { optionalPem, type Pem } from "./pem.js";

/** TLS at the client's side. */
export interface ClientTls {
  /** Authorities that the coordinator's certificate may come from. Default: those that Node trusts. */
  readonly ca?: Pem | undefined;
  /** The client's own certificate and its key, where the coordinator asks for one. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
  /** The name that the coordinator's certificate has, where it is not the one in its address. */
  readonly serverName?: string | undefined;
}

/** How a client shows who it is, and knows whom it speaks to, at the moment: files may change while it runs. */
export interface Security {
  readonly tls: ClientTls | undefined;
  readonly token: string | undefined;
}

/** The same as options have it: a function is asked again each time. */
export interface GivenSecurity {
  readonly tls?: ClientTls | boolean | (() => ClientTls | undefined) | undefined;
  readonly token?: string | (() => string | undefined) | undefined;
}

export function securityOf({ tls, token }: GivenSecurity): Security {
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

/** Authorities, key and certificate. */
export function pemsOf({ ca, key, cert }: ClientTls): [Buffer | null, Buffer | null, Buffer | null] {
  return [optionalPem("tls.ca", ca), optionalPem("tls.key", key), optionalPem("tls.cert", cert)];
}
