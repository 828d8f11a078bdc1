import { createHash, timingSafeEqual } from "node:crypto";
import { CoordinatorError, InvalidArgumentError } from "../../errors/index.js";
import { protocolVersion } from "../limits.js";
import { Metadata } from "../packages.js";

const versionKey = "percolator-version";
const clusterKey = "percolator-cluster";
const tokenKey = "authorization";
const scheme = "Bearer ";

/** What a client says about itself with each call. */
export interface Introduction {
  readonly token?: string | undefined;
  /** Identifies the client's database. Undefined if the client does not know it. */
  readonly cluster?: string | undefined;
  readonly version?: string | undefined;
}

/** The metadata that a client sends with each call. */
export function introduction({
  token,
  cluster,
  version = String(protocolVersion),
}: Introduction = {}): Metadata {
  const metadata = new Metadata();
  metadata.set(versionKey, version);
  if (cluster !== undefined) metadata.set(clusterKey, encodeURIComponent(cluster));
  if (token !== undefined) metadata.set(tokenKey, scheme + token);
  return metadata;
}

/** Decides whether a call is admitted. */
export class Admission {
  #digests: readonly Buffer[] = [];
  readonly #cluster: () => string;

  /**
   * `tokens`: a call must show one of them. If there are none, none is asked for. `cluster`:
   * identifies the coordinator's database; empty while it is not known.
   */
  constructor(tokens: readonly string[], cluster: () => string) {
    this.#cluster = cluster;
    this.replace(tokens);
  }

  /**
   * Replaces the tokens for new calls. If a new token is invalid, throws and keeps the old tokens.
   */
  replace(tokens: readonly string[]): void {
    for (const token of tokens) checkToken(token);
    this.#digests = tokens.map(digestOf);
  }

  /** Throws a {@link CoordinatorError} if a call is not admitted. */
  check(metadata: Metadata): void {
    this.#checkToken(metadata);
    this.#checkVersion(metadata);
    this.#checkCluster(metadata);
  }

  #checkVersion(metadata: Metadata): void {
    const version = metadata.get(versionKey)[0];
    if (version === String(protocolVersion)) return;
    throw new CoordinatorError(
      `it uses version ${protocolVersion} of the protocol, and the client ${version === undefined ? "none" : `version ${String(version).slice(0, 20)}`}. ` +
        "Run the same version of percolatordb everywhere.",
      { reason: "version" },
    );
  }

  /** Two oracles must not assign timestamps of one database. */
  #checkCluster(metadata: Metadata): void {
    const cluster = this.#cluster();
    const given = metadata.get(clusterKey)[0];
    if (given === undefined || cluster === "" || given === encodeURIComponent(cluster)) return;
    throw new CoordinatorError(
      "it serves another database than the client's. Check the coordinator's address, and the client's location.",
      { reason: "cluster" },
    );
  }

  #checkToken(metadata: Metadata): void {
    if (this.#digests.length === 0) return;
    const given = metadata.get(tokenKey)[0];
    if (typeof given !== "string" || !given.startsWith(scheme)) {
      throw new CoordinatorError(
        "it asks for a token, and the client gave none. Give the client the token with `token` or `--token-file`.",
        { reason: "token" },
      );
    }
    // All digests have the same length, so the time of a comparison reveals nothing.
    const digest = digestOf(given.slice(scheme.length));
    const matches = this.#digests.filter((known) => timingSafeEqual(known, digest));
    if (matches.length > 0) return;
    throw new CoordinatorError("it does not accept the client's token. Give both the same token.", {
      reason: "token",
    });
  }
}

/** Refuses a token that cannot be sent in a header. */
export function checkToken(token: string): void {
  if (typeof token === "string" && /^[\x21-\x7e]{1,4096}$/.test(token)) return;
  throw new InvalidArgumentError(
    "A coordinator's token must be 1 to 4,096 printable ASCII characters, without spaces.",
  );
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
