import type * as Grpc from "@grpc/grpc-js";
import type { GoogleAuth as GoogleAuthClass } from "google-auth-library";
import type Protobuf from "protobufjs/minimal.js";
import { type PackageNeed, requirePackage } from "../../errors/index.js";

/**
 * The optional peer dependencies of this store. Only this folder loads them, so programs with other
 * stores do not need them.
 */

const need: PackageNeed = {
  user: "Cloud Bigtable",
  packages: ["@grpc/grpc-js", "protobufjs", "google-auth-library"],
};

export const { Client, credentials, Metadata, status } = requirePackage<typeof Grpc>("@grpc/grpc-js", need);
export type Client = Grpc.Client;
export type Metadata = Grpc.Metadata;
export type status = Grpc.status;
export type { ChannelCredentials, MetadataValue, ServiceError } from "@grpc/grpc-js";

let knownVersion: string | undefined;

export function grpcVersion(): string {
  knownVersion ??= requirePackage<{ readonly version: string }>("@grpc/grpc-js/package.json", need).version;
  return knownVersion;
}

export const { Reader, Writer } = requirePackage<typeof Protobuf>("protobufjs/minimal.js", need);
export type Reader = Protobuf.Reader;
export type Writer = Protobuf.Writer;

/**
 * Loads google-auth-library. Neither an emulator nor a program with its own credentials needs it.
 */
export function googleAuth(): typeof GoogleAuthClass {
  const user = `${need.user} (an emulator does not; see BIGTABLE_EMULATOR_HOST)`;
  const library = requirePackage<{ readonly GoogleAuth: typeof GoogleAuthClass }>("google-auth-library", {
    ...need,
    user,
  });
  return library.GoogleAuth;
}
