import { packageManifest } from "../../../environment/index.js";
import { grpcVersion } from "../packages.js";

/** The `user-agent` header of this package. The gRPC library appends its own. */
export function userAgent(): string {
  return `percolatordb/${packageManifest().version}`;
}

/** The header `x-goog-api-client`, by which the operators of the service know the client. */
export function clientNames(): string {
  return `gl-node/${process.versions.node} grpc/${grpcVersion()} ${userAgent()}`;
}
