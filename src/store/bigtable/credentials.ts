import { type ChannelCredentials, credentials, Metadata } from "@grpc/grpc-js";
import { InvalidArgumentError, StoreError } from "../../errors/index.js";

/** What is used of google-auth-library's clients. */
export interface AuthClient {
  getRequestHeaders(url?: string): Promise<Headers | Readonly<Record<string, string>>>;
}

const scopes = [
  "https://www.googleapis.com/auth/bigtable.data",
  "https://www.googleapis.com/auth/bigtable.admin",
  "https://www.googleapis.com/auth/cloud-platform",
];

/** Where the service is, and how to be let in. */
export interface Endpoint {
  readonly data: string;
  readonly admin: string;
  readonly credentials: ChannelCredentials;
  readonly emulator: boolean;
}

/** The endpoint that Google's way of configuring names: an emulator's, or the service's with the default credentials. */
export async function findEndpoint(
  emulatorHost: string | undefined,
  auth: AuthClient | undefined,
): Promise<Endpoint> {
  const host = emulatorHost ?? process.env.BIGTABLE_EMULATOR_HOST;
  if (host === undefined || host === "") {
    const client = auth ?? (await defaultClient());
    return {
      data: "bigtable.googleapis.com:443",
      admin: "bigtableadmin.googleapis.com:443",
      credentials: credentials.combineChannelCredentials(credentials.createSsl(), callCredentials(client)),
      emulator: false,
    };
  }
  if (!/^[^\s/]+:\d{1,5}$/.test(host)) {
    throw new InvalidArgumentError(`BIGTABLE_EMULATOR_HOST must be HOST:PORT, not "${host}".`);
  }
  return { data: host, admin: host, credentials: credentials.createInsecure(), emulator: true };
}

/** Application default credentials. The library is loaded only here, where the service itself is used. */
async function defaultClient(): Promise<AuthClient> {
  const { GoogleAuth } = await loadLibrary();
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

async function loadLibrary() {
  try {
    return await import("google-auth-library");
  } catch (error) {
    throw new StoreError(
      "Bigtable needs the package google-auth-library, which is not installed: run `npm install google-auth-library`. " +
        "For an emulator set BIGTABLE_EMULATOR_HOST.",
      { cause: error },
    );
  }
}

/** The library keeps a token as long as it is good. Its headers are a `Headers` or, in older versions, an object. */
export function callCredentials(client: AuthClient) {
  return credentials.createFromMetadataGenerator((options, callback) => {
    client.getRequestHeaders(options.service_url).then(
      (headers) => {
        const metadata = new Metadata();
        const entries = headers instanceof Headers ? headers.entries() : Object.entries(headers);
        for (const [name, value] of entries) metadata.set(name, value);
        callback(null, metadata);
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
    );
  });
}
