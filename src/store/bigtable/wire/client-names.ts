import { createRequire } from "node:module";
import { packageManifest } from "../../../environment/index.js";

/** How this package names itself to the service, in front of what the gRPC library says of itself: the header `user-agent`. */
export function userAgent(): string {
  return `percolatordb/${packageManifest().version}`;
}

/** The header `x-goog-api-client`: what the service's operators see of a request's origin. */
export function clientNames(): string {
  return `gl-node/${process.versions.node} grpc/${grpcVersion()} ${userAgent()}`;
}

let known: string | undefined;

function grpcVersion(): string {
  const load = createRequire(import.meta.url);
  known ??= (load("@grpc/grpc-js/package.json") as { readonly version: string }).version;
  return known;
}
