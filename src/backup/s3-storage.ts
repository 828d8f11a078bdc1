import { abortError, backoffDelay, type Environment, sleep, underSignals } from "../environment/index.js";
import {
  BackupAccessError,
  BackupError,
  BackupFullError,
  PercolatorError,
  withoutPassword,
} from "../errors/index.js";
import { sumOf } from "./parts.js";
import { type AwsKeys, encodeUri, signedHeaders } from "./signature.js";
import type { BackupStorage, Variables } from "./storage.js";

const noBody = new Uint8Array(0);
/** How often to send a request to a storage that is overloaded or does not answer: for about 15 s. */
const maxAttempts = 7;
const backoff = { initialMs: 200, maximumMs: 5_000 };
/** Insufficient Storage: what MinIO answers when its disks are full. To ask again does not help. */
const insufficientStorage = 507;
/** What Swift and others answer to a header that they do not know. */
const notImplemented = 501;
/** How storages name a quota that is used up, whatever the status: Ceph, MinIO, Wasabi. */
const fullCodes: ReadonlySet<string> = new Set([
  "InsufficientCapacity",
  "QuotaExceeded",
  "XMinioAdminBucketQuotaExceeded",
  "XMinioStorageFull",
]);

interface S3Answer {
  readonly status: number;
  readonly body: Buffer;
}

/** Keeps objects in a bucket of S3, or of a storage with the same protocol (MinIO, R2, Ceph, …). */
export class S3Storage implements BackupStorage {
  readonly description: string;
  /** The URL of the bucket, without a slash at its end. */
  readonly #bucket: string;
  /** Empty, or ends with a slash. */
  readonly #prefix: string;
  readonly #region: string;
  readonly #keys: AwsKeys;
  readonly #environment: Environment;
  readonly #signal: AbortSignal | undefined;

  private constructor(
    description: string,
    bucket: string,
    prefix: string,
    region: string,
    keys: AwsKeys,
    environment: Environment,
    signal: AbortSignal | undefined,
  ) {
    this.description = description;
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#region = region;
    this.#keys = keys;
    this.#environment = environment;
    this.#signal = signal;
  }

  /** The storage of `s3://BUCKET/PREFIX`, with the keys, the region and the endpoint of AWS's variables. */
  static of(place: string, environment: Environment, variables: Variables, signal?: AbortSignal): S3Storage {
    const [, bucket, path = ""] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(place) ?? [];
    if (bucket === undefined) throw new BackupError(`${place} names no bucket: give s3://BUCKET/PREFIX.`);
    // A URL goes up a folder there, but a list takes the prefix as it is, and would find nothing.
    if (path.split("/").some((part) => part === "." || part === "..")) {
      throw new BackupError(`${place} has a part that is "." or "..": give the prefix without it.`);
    }
    const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = variables;
    const { AWS_SESSION_TOKEN, AWS_REGION, AWS_DEFAULT_REGION } = variables;
    const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = variables;
    if (!accessKeyId || !secretAccessKey) {
      throw new BackupError(
        `There are no keys for ${place}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN if the keys need it.`,
      );
    }
    const keys = { accessKeyId, secretAccessKey, sessionToken: AWS_SESSION_TOKEN || undefined };
    const region = AWS_REGION || AWS_DEFAULT_REGION || "us-east-1";
    const endpoint = AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL;
    if (endpoint && !isWebUrl(endpoint)) {
      throw new BackupError(
        `AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL is ${withoutPassword(endpoint)}, which is no URL with http:// or https://.`,
      );
    }
    const url = endpoint
      ? `${endpoint.replace(/\/+$/, "")}/${encodeUri(bucket)}`
      : bucket.includes(".")
        ? `https://s3.${region}.amazonaws.com/${encodeUri(bucket)}`
        : `https://${bucket}.s3.${region}.amazonaws.com`;
    const prefix = path.replace(/^\/+|\/+$/g, "");
    return new S3Storage(place, url, prefix === "" ? "" : `${prefix}/`, region, keys, environment, signal);
  }

  async put(name: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    const { status, body } = await underSignals([this.#signal, signal], (either) =>
      this.#send("PUT", this.#url(name), bytes, {}, either),
    );
    if (status >= 300) throw this.#refused("PUT", name, status, body);
  }

  async create(name: string, bytes: Uint8Array): Promise<boolean> {
    // Some storages refuse the header of the PUT, and some ignore it. So two processes that come at the
    // same time may both write the object. Then the last writer has the lock, and the other one notices
    // that before it writes a manifest.
    if ((await this.get(name)) !== undefined) return false;
    const { status, body } = await this.#send("PUT", this.#url(name), bytes, { "if-none-match": "*" });
    if (status === 412 || status === 409) return false;
    if (status === notImplemented) {
      await this.put(name, bytes);
      return true;
    }
    if (status >= 300) throw this.#refused("PUT", name, status, body);
    return true;
  }

  async get(name: string): Promise<Buffer | undefined> {
    const { status, body } = await this.#send("GET", this.#url(name));
    if (status === 404) return undefined;
    if (status >= 300) throw this.#refused("GET", name, status, body);
    return body;
  }

  async *list(prefix: string): AsyncGenerator<string> {
    let token: string | undefined;
    do {
      const query = {
        "list-type": "2",
        "encoding-type": "url",
        prefix: `${this.#prefix}${prefix}`,
        ...(token === undefined ? {} : { "continuation-token": token }),
      };
      // The query must be sent as it is signed.
      const sent = Object.entries(query).map(([name, value]) => `${name}=${encodeUri(value)}`);
      const url = new URL(`${this.#bucket}/?${sent.join("&")}`);
      const { status, body } = await this.#send("GET", url);
      if (status >= 300) throw this.#refused("list", prefix, status, body);
      const text = body.toString("utf8");
      // A storage may ignore `encoding-type`.
      const isEncoded = textsOf(text, "EncodingType")[0] === "url";
      for (const key of textsOf(text, "Key")) {
        const decoded = isEncoded ? decodeURIComponent(key.replaceAll("+", " ")) : key;
        const name = decoded.slice(this.#prefix.length);
        // Consoles of S3 make a folder as an empty object with a slash at its end.
        if (name !== "" && !name.endsWith("/")) yield name;
      }
      token = textsOf(text, "NextContinuationToken")[0];
    } while (token !== undefined);
  }

  async delete(name: string): Promise<void> {
    const { status, body } = await this.#send("DELETE", this.#url(name));
    if (status >= 300 && status !== 404) throw this.#refused("DELETE", name, status, body);
  }

  async clean(): Promise<void> {
    // A put is atomic, so nothing is ever half-written.
  }

  #url(name: string): URL {
    return new URL(`${this.#bucket}/${`${this.#prefix}${name}`.split("/").map(encodeUri).join("/")}`);
  }

  /** Sends a request again if the storage is overloaded or does not answer. */
  async #send(
    method: string,
    url: URL,
    bytes: Uint8Array = noBody,
    headers: Readonly<Record<string, string>> = {},
    signal = this.#signal,
  ): Promise<S3Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#once(method, url, bytes, headers, signal);
      if (typeof answer !== "string" && !isTransient(answer.status)) return answer;
      if (attempt === maxAttempts) {
        if (typeof answer !== "string") return answer;
        throw new BackupError(
          `${this.description} does not answer: ${answer}. Check the network and the endpoint (AWS_ENDPOINT_URL_S3).`,
        );
      }
      await sleep(
        this.#environment,
        backoffDelay(this.#environment, backoff, attempt),
        signal,
        `A request to ${this.description}`,
      );
    }
  }

  /** The answer, or why there is none. */
  async #once(
    method: string,
    url: URL,
    bytes: Uint8Array,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal | undefined,
  ): Promise<S3Answer | string> {
    const bodySum = sumOf(bytes);
    const request = { method, url, headers, bodySum, now: this.#environment.now(), region: this.#region };
    try {
      const answer = await fetch(url, {
        method,
        headers: signedHeaders(request, this.#keys),
        ...(bytes.length === 0 ? {} : { body: bytes as Uint8Array<ArrayBuffer> }),
        ...(signal === undefined ? {} : { signal }),
        // The session token and the pages are for nobody else, and the signature is valid only here.
        redirect: "manual",
      });
      return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
    } catch (error) {
      if (signal?.aborted) throw abortError(signal, `A request to ${this.description}`);
      if (error instanceof PercolatorError) throw error;
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return cause instanceof Error ? cause.message : String(cause);
    }
  }

  #refused(method: string, name: string, status: number, body: Buffer): BackupError {
    const text = body.toString("utf8");
    const code = textsOf(text, "Code")[0];
    const reason = [code, textsOf(text, "Message")[0]].filter(Boolean).join(": ");
    const what =
      `${this.description} refused to ${method} ${name || "its objects"} with status ${status}` +
      `${reason === "" ? "" : ` (${reason})`}.`;
    if (status === insufficientStorage || fullCodes.has(code ?? "")) {
      return new BackupFullError(
        `${what} Free space there, raise its quota, or name another place. Earlier backups are intact.`,
      );
    }
    if (status < 400) {
      throw new BackupError(
        `${what} It refers to another address: check the region and the endpoint (AWS_REGION, AWS_ENDPOINT_URL_S3).`,
      );
    }
    const Refused = status === 401 || status === 403 ? BackupAccessError : BackupError;
    return new Refused(
      `${what} Check the bucket, the keys and their permissions: s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket.`,
    );
  }
}

function isWebUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

/** Whether the same request may succeed in a moment: the storage is overloaded, or a server of it fails. */
function isTransient(status: number): boolean {
  return status === 429 || (status >= 500 && status !== insufficientStorage && status !== notImplemented);
}

/** The texts of all elements with this name. */
function textsOf(xml: string, element: string): readonly string[] {
  const found = xml.matchAll(new RegExp(`<${element}>([^<]*)</${element}>`, "g"));
  return [...found].map(([, text]) => unescaped(text!));
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Some storages make the token that continues a list from the name of an object, which may have an `&`. */
function unescaped(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[name] ?? whole;
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal));
  });
}
