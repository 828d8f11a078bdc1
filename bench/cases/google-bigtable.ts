import { mutationRequest, readFilter, readRequest } from "./bigtable-raw.js";

/**
 * The part of `v2.BigtableClient` that is used here. The package is not a dependency of this
 * project.
 */
interface GeneratedClient {
  checkAndMutateRow(request: object, options: object): Promise<[{ readonly predicateMatched?: boolean }]>;
  readRows(request: object, options: object): AsyncIterable<{ readonly chunks: readonly Chunk[] }>;
  close(): Promise<void>;
}

interface Chunk {
  readonly familyName?: { readonly value: string } | null;
  readonly value: Uint8Array;
}

interface GooglePackage {
  readonly v2: { readonly BigtableClient: new (options: object) => GeneratedClient };
}

interface GooglePlumbing {
  readonly grpc: { readonly credentials: { createInsecure(): unknown } };
}

/** Turns off retries. By default Google's client restarts a stream automatically. */
const noRetries = {
  timeout: 10_000,
  retry: null,
  retryRequestOptions: { noResponseRetries: 0, retries: 0, shouldRetryFn: () => false },
};

/** The requests of `RawBigtable`, sent by the client that Google generates from the same protos. */
export class GoogleBigtable {
  readonly #client: GeneratedClient;
  readonly #path: string;

  private constructor(client: GeneratedClient, path: string) {
    this.#client = client;
    this.#path = path;
  }

  /** Undefined if `@google-cloud/bigtable` is not installed. */
  static async open(host: string, path: string): Promise<GoogleBigtable | undefined> {
    const found = (await load("@google-cloud/bigtable")) as GooglePackage | undefined;
    // Google's package has its own copy of gRPC, which accepts no credentials of another copy.
    const gax = (await load("google-gax")) as GooglePlumbing | undefined;
    if (found === undefined || gax === undefined) return undefined;
    process.env.METADATA_SERVER_DETECTION ??= "none";
    const { v2 } = found;
    const [servicePath, port] = host.split(":");
    const sslCreds = gax.grpc.credentials.createInsecure();
    const options = { servicePath, port: Number(port), sslCreds, projectId: "project" };
    return new GoogleBigtable(new v2.BigtableClient(options), path);
  }

  async mutate(row: Buffer, column: Buffer, timestamp: number, value: Buffer): Promise<boolean> {
    const request = mutationRequest(this.#path, row, column, timestamp, value);
    const [{ predicateMatched }] = await this.#client.checkAndMutateRow(request, noRetries);
    return predicateMatched !== true;
  }

  async read(row: Buffer, column: Buffer, at: number): Promise<Uint8Array | undefined> {
    let value: Uint8Array | undefined;
    const request = { ...readRequest(this.#path, row), filter: readFilter(column, at) };
    for await (const { chunks } of this.#client.readRows(request, noRetries)) {
      for (const chunk of chunks) if (chunk.familyName?.value === "write") value = chunk.value;
    }
    return value;
  }

  close(): void {
    void this.#client.close();
  }
}

/** Loads a package that may be missing. */
async function load(name: string): Promise<unknown> {
  try {
    const found = (await import(name)) as { readonly default?: unknown };
    return found.default ?? found;
  } catch {
    return undefined;
  }
}
