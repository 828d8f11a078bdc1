import { describe, expect, test } from "vitest";
import { signedHeaders } from "./signature.js";

/**
 * The examples of "Signature Calculations for the Authorization Header: Transferring Payload in a Single
 * Chunk" in the Amazon S3 API Reference.
 */
const keys = {
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};
const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

function signatureOf(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  bodySum = nothing,
): string | undefined {
  const url = new URL(`https://examplebucket.s3.amazonaws.com${path}`);
  const now = Date.UTC(2013, 4, 24);
  const signed = signedHeaders({ method, url, headers, bodySum, now, region: "us-east-1" }, keys);
  return /Signature=([0-9a-f]{64})$/.exec(signed.authorization!)?.[1];
}

describe("signatures are those of the examples that AWS publishes:", () => {
  test("GET object", () => {
    expect(signatureOf("GET", "/test.txt", { range: "bytes=0-9" })).toBe(
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
  });

  test("PUT object", () => {
    const headers = {
      date: "Fri, 24 May 2013 00:00:00 GMT",
      "x-amz-storage-class": "REDUCED_REDUNDANCY",
    };
    const bodySum = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    expect(signatureOf("PUT", "/test%24file.text", headers, bodySum)).toBe(
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    );
  });

  test("GET bucket lifecycle", () => {
    expect(signatureOf("GET", "/?lifecycle")).toBe(
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    );
  });

  test("GET bucket, the list of its objects", () => {
    expect(signatureOf("GET", "/?max-keys=2&prefix=J")).toBe(
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    );
  });
});
