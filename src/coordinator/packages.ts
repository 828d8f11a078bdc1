import type * as Grpc from "@grpc/grpc-js";
import type Protobuf from "protobufjs/minimal.js";
import { type PackageNeed, requirePackage } from "../errors/index.js";

/**
 * The optional peer dependencies of the coordinator and its client. Only the code in this folder
 * loads them, so other programs do not need them.
 */

const need: PackageNeed = { user: "A coordinator or its client", packages: ["@grpc/grpc-js", "protobufjs"] };

const grpc = requirePackage<typeof Grpc>("@grpc/grpc-js", need);
export const {
  ChannelCredentials,
  Client,
  Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  status,
} = grpc;
export type ChannelCredentials = Grpc.ChannelCredentials;
export type Client = Grpc.Client;
export type Metadata = Grpc.Metadata;
export type Server = Grpc.Server;
export type ServerCredentials = Grpc.ServerCredentials;
export type status = Grpc.status;

export const { Reader, Writer } = requirePackage<typeof Protobuf>("protobufjs/minimal.js", need);
export type Reader = Protobuf.Reader;
export type Writer = Protobuf.Writer;
