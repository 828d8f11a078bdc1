import { InvalidArgumentError, StoreError } from "../../../errors/index.js";
import { type ChannelCredentials, credentials, googleAuth, Metadata, status } from "../packages.js";
import type { AuthClient } from "./auth-client.js";

const scopes = [
  "https://www.googleapis.com/auth/bigtable.data",
  "https://www.googleapis.com/auth/bigtable.admin",
  "https://www.googleapis.com/auth/cloud-platform",
];

/** The addresses of the service, and the credentials for it. */
export interface Endpoint {
  readonly data: string;
  readonly admin: string;
  readonly credentials: ChannelCredentials;
  readonly emulator: boolean;
}

/** The options of `openBigtableStore` about the endpoint. */
export interface EndpointOptions {
  readonly emulatorHost?: string | undefined;
  readonly auth?: AuthClient | undefined;
  readonly endpoint?: string | undefined;
  readonly adminEndpoint?: string | undefined;
  readonly universeDomain?: string | undefined;
}

const defaultUniverse = "googleapis.com";

/**
 * Finds the endpoint. Options come first, then `BIGTABLE_EMULATOR_HOST`, then the service with the
 * application default credentials.
 */
export async function findEndpoint(options: EndpointOptions): Promise<Endpoint> {
  const { emulatorHost, endpoint, adminEndpoint, auth } = options;
  const isNamed = endpoint !== undefined || adminEndpoint !== undefined;
  if (isNamed && emulatorHost !== undefined) {
    throw new InvalidArgumentError(
      "`endpoint` and `adminEndpoint` name the service, but `emulatorHost` names an emulator. Give only one of the two kinds.",
    );
  }
  const host = emulatorHost ?? (isNamed ? undefined : process.env.BIGTABLE_EMULATOR_HOST);
  if (host !== undefined && host !== "") return emulatorAt(host);
  const universe = universeOf(options.universeDomain);
  const data = address("endpoint", endpoint ?? `bigtable.${universe}`);
  const admin = address("adminEndpoint", adminEndpoint ?? `bigtableadmin.${universe}`);
  const client = auth ?? (await defaultClient());
  const own = client.universeDomain ?? defaultUniverse;
  if (own !== universe) {
    throw new InvalidArgumentError(
      `The credentials belong to the universe domain ${own}, but the endpoints to ${universe}. Give credentials of that domain, or ` +
        "set `universeDomain`, `?universeDomain=` in the location, or GOOGLE_CLOUD_UNIVERSE_DOMAIN.",
    );
  }
  const channel = credentials.combineChannelCredentials(credentials.createSsl(), callCredentials(client));
  return { data, admin, credentials: channel, emulator: false };
}

function emulatorAt(host: string): Endpoint {
  if (!/^[^\s/]+:\d{1,5}$/.test(host)) {
    throw new InvalidArgumentError(`BIGTABLE_EMULATOR_HOST must be HOST:PORT, not "${host}".`);
  }
  return { data: host, admin: host, credentials: credentials.createInsecure(), emulator: true };
}

function universeOf(option: string | undefined): string {
  const universe = option ?? (process.env.GOOGLE_CLOUD_UNIVERSE_DOMAIN || defaultUniverse);
  if (/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(universe)) return universe;
  throw new InvalidArgumentError(
    `The universe domain must be a domain such as ${defaultUniverse}, not "${universe}".`,
  );
}

/** Completes `HOST` to `HOST:PORT`. */
function address(name: string, endpoint: string): string {
  const host = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.exec(endpoint);
  if (host === null)
    throw new InvalidArgumentError(`\`${name}\` must be HOST or HOST:PORT, not "${endpoint}".`);
  return host[2] === undefined ? `${endpoint}:443` : endpoint;
}

/** Application default credentials. The library is loaded only here, for the service itself. */
async function defaultClient(): Promise<AuthClient> {
  const GoogleAuth = googleAuth();
  try {
    return await new GoogleAuth({ scopes }).getClient();
  } catch (error) {
    throw new StoreError(
      "There are no credentials for Bigtable: set GOOGLE_APPLICATION_CREDENTIALS to a key's file, run `gcloud auth " +
        "application-default login`, or run where a service account is attached. For an emulator set BIGTABLE_EMULATOR_HOST.",
      { cause: error },
    );
  }
}

/**
 * Adds the token to each call. google-auth-library caches the token. It returns the headers as a
 * `Headers` object, or in older versions as a plain object.
 */
export function callCredentials(client: AuthClient) {
  return credentials.createFromMetadataGenerator((options, callback) => {
    // gRPC throws for a header with a line break, such as a token read from a file.
    client
      .getRequestHeaders(options.service_url)
      .then(metadataOf)
      .then(
        (metadata) => callback(null, metadata),
        (error: unknown) => callback(tokenError(error)),
      );
  });
}

function metadataOf(headers: Awaited<ReturnType<AuthClient["getRequestHeaders"]>>): Metadata {
  const metadata = new Metadata();
  const entries = headers instanceof Headers ? headers.entries() : Object.entries(headers);
  for (const [name, value] of entries) metadata.set(name, value);
  return metadata;
}

/**
 * The error for a call without a token. gRPC takes its `code` for a gRPC status, but in the
 * library's errors it is an HTTP status.
 */
function tokenError(error: unknown): Error {
  const http = (error as { readonly status?: unknown } | undefined)?.status;
  const isRefused = typeof http === "number" && http >= 400 && http < 500 && http !== 408 && http !== 429;
  const message = error instanceof Error ? error.message : String(error);
  const code = isRefused ? status.UNAUTHENTICATED : status.UNAVAILABLE;
  return Object.assign(new Error(message, { cause: error }), { code });
}
