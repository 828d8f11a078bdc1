/**
 * Signs requests to S3 and to what is compatible with it: AWS Signature Version 4, with the checksum of
 * the body. This needs no package, and tests compare it with the examples that AWS publishes.
 */

/** The keys of an account. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** With keys that are valid only for some time. */
  readonly sessionToken?: string | undefined;
}

/** A request to sign. */
export interface UnsignedRequest {
  readonly method: string;
  readonly url: URL;
  /** Headers besides `host` and those of the signature, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The SHA-256 of the body, in hexadecimal. */
  readonly bodySum: string;
  /** Wall time in milliseconds since 1970. */
  readonly now: number;
  readonly region: string;
}

const crypto = () => process.getBuiltinModule("node:crypto");

/** The headers of the signed request, without `host`. */
export function signedHeaders(
  { method, url, headers, bodySum, now, region }: UnsignedRequest,
  { accessKeyId, secretAccessKey, sessionToken }: AwsKeys,
): Record<string, string> {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const day = time.slice(0, 8);
  const scope = `${day}/${region}/s3/aws4_request`;
  const sent: Record<string, string> = {
    ...headers,
    "x-amz-content-sha256": bodySum,
    "x-amz-date": time,
    ...(sessionToken === undefined ? {} : { "x-amz-security-token": sessionToken }),
  };
  const signed = Object.entries({ ...sent, host: url.host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const signedNames = signed.map(([name]) => name).join(";");
  const query = [...url.searchParams]
    .map(([name, value]) => `${encodeUri(name)}=${encodeUri(value)}`)
    .sort()
    .join("&");
  const canonical = [
    method,
    url.pathname,
    query,
    ...signed.map(([name, value]) => `${name}:${value.trim()}`),
    "",
    signedNames,
    bodySum,
  ].join("\n");
  const hash = crypto().createHash("sha256").update(canonical).digest("hex");
  const hmac = (key: string | Buffer, text: string) =>
    crypto().createHmac("sha256", key).update(text).digest();
  const key = [day, region, "s3", "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const signature = hmac(key, ["AWS4-HMAC-SHA256", time, scope, hash].join("\n")).toString("hex");
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope},SignedHeaders=${signedNames},Signature=${signature}`;
  return { ...sent, authorization };
}

/** As AWS encodes the parts of a path and of a query: everything but letters, digits and `-._~`. */
export function encodeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
