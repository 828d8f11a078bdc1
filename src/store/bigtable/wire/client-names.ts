import { createRequire } from "node:module";
import { packageManifest } from "../../../environment/index.js";

/** The `user-agent` header of this package. The gRPC library appends its own. */
export function userAgent(): string {
  return `percolatordb/${packageManifest().version}`;
}

/** The header `x-goog-api-client`, by which the operators of the service know the client. */
export function clientNames(): string {
  return `gl-node/${process.versions.node} grpc/${grpcVersion()} ${userAgent()}`;
}

let known: string | undefined;

function grpcVersion(): string {
  const load = createRequire(import.meta.url);
  known ??= (load("@grpc/grpc-js/package.json") as { readonly version: string }).version;
  return known;
}
