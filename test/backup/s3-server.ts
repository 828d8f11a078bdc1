import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const region = "eu-test-1";
const keyId = "AKIDTEST";
const secret = "secret/of+the test";
const maxKeys = 3;

/** A small S3 in this process. It checks signatures with code of its own, and gives lists three names at a time. */
export class S3Server {
  readonly objects = new Map<string, Buffer>();
  /** How many of the next requests fail with 503. */
  failures = 0;
  /** How many bytes it holds before it is full, and how it then refuses. */
  capacity = Number.POSITIVE_INFINITY;
  whenFull = { status: 507, code: "XMinioStorageFull" };
  /** Whether it encodes the names of a list, as `encoding-type=url` asks. */
  encodes = true;
  /** What it makes of the header `If-None-Match` of a PUT. */
  conditions: "known" | "refused" | "ignored" = "known";
  requests = 0;
  refused = 0;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  /** How much it holds. */
  get bytes(): number {
    return [...this.objects.values()].reduce((sum, { length }) => sum + length, 0);
  }

  get variables(): Readonly<Record<string, string>> {
    const { port } = this.#server.address() as AddressInfo;
    return {
      AWS_ACCESS_KEY_ID: keyId,
      AWS_SECRET_ACCESS_KEY: secret,
      AWS_REGION: region,
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const reply = (status: number, text: string | Buffer = "") => response.writeHead(status).end(text);
    if (this.failures > 0) {
      this.failures--;
      return void reply(503, "<Error><Code>SlowDown</Code></Error>");
    }
    if (!isSigned(request, body)) {
      this.refused++;
      return void reply(403, "<Error><Code>SignatureDoesNotMatch</Code><Message>No.</Message></Error>");
    }
    const url = new URL(request.url!, "http://localhost");
    const path = decodeURIComponent(url.pathname);
    if (!path.startsWith("/bucket/")) return void reply(404, "<Error><Code>NoSuchBucket</Code></Error>");
    const name = path.slice("/bucket/".length);
    if (request.method === "GET" && name === "") return void reply(200, this.#list(url.searchParams));
    const found = this.objects.get(name);
    if (request.method === "GET") return void (found === undefined ? reply(404) : reply(200, found));
    if (request.method === "DELETE") {
      this.objects.delete(name);
      return void reply(204);
    }
    if (request.headers["if-none-match"] === "*" && this.conditions !== "ignored") {
      // As Swift answers.
      if (this.conditions === "refused") return void reply(501, "<Error><Code>NotImplemented</Code></Error>");
      if (found !== undefined) return void reply(412);
    }
    if (this.bytes + body.length > this.capacity) {
      const { status, code } = this.whenFull;
      return void reply(status, `<Error><Code>${code}</Code><Message>Full.</Message></Error>`);
    }
    this.objects.set(name, body);
    reply(200);
  }

  #list(query: URLSearchParams): string {
    const prefix = query.get("prefix") ?? "";
    const after = query.get("continuation-token") ?? "";
    const names = [...this.objects.keys()].sort().filter((name) => name.startsWith(prefix) && name > after);
    const page = names.slice(0, maxKeys);
    const shown = page.map(this.encodes ? encodeURIComponent : escaped);
    const contents = shown.map((name) => `<Contents><Key>${name}</Key></Contents>`);
    const encoding = this.encodes ? "<EncodingType>url</EncodingType>" : "";
    // As Ceph does: the token is the last name, escaped for XML.
    const last = escaped(page.at(-1) ?? "");
    const next = names.length > maxKeys ? `<NextContinuationToken>${last}</NextContinuationToken>` : "";
    return `<?xml version="1.0"?><ListBucketResult>${encoding}${contents.join("")}${next}</ListBucketResult>`;
  }
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("'", "&#39;");
}

/** Follows the text of AWS's documentation step by step. */
function isSigned({ method, url, headers }: IncomingMessage, body: Buffer): boolean {
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w+)$/.exec(
      headers.authorization ?? "",
    );
  if (found === null) return false;
  const [, key, day, inRegion, signed, signature] = found;
  const sum = createHash("sha256").update(body).digest("hex");
  if (key !== keyId || inRegion !== region || headers["x-amz-content-sha256"] !== sum) return false;
  const [path, query = ""] = url!.split("?");
  const lines = signed!.split(";").map((name) => `${name}:${String(headers[name])}\n`);
  const sorted = query.split("&").sort().join("&");
  const canonical = `${method}\n${path}\n${sorted}\n${lines.join("")}\n${signed}\n${sum}`;
  const hashed = createHash("sha256").update(canonical).digest("hex");
  const text = `AWS4-HMAC-SHA256\n${String(headers["x-amz-date"])}\n${day}/${region}/s3/aws4_request\n${hashed}`;
  const step = (by: Buffer | string, what: string) => createHmac("sha256", by).update(what).digest();
  const signing = step(step(step(step(`AWS4${secret}`, day!), region), "s3"), "aws4_request");
  return step(signing, text).toString("hex") === signature;
}
