/** Writes the codecs of the package's two protocols from their .proto files: `npm run protos`. */
import { writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type CodecSource, codecOf } from "./codec.js";

const folder = (path: string) => fileURLToPath(new URL(`../src/${path}/`, import.meta.url));

const bigtable = (names: readonly string[]) => names.map((name) => `google.bigtable.v2.${name}`);
const admin = (names: readonly string[]) => names.map((name) => `google.bigtable.admin.v2.${name}`);

const coordinator = [
  ...[
    "TimestampRequest",
    "TimestampRange",
    "SessionRequest",
    "SessionReply",
    "AliveRequest",
    "AliveReply",
    "ActivityRequest",
    "ActivityReply",
  ].map((name) => `percolator.coordinator.v1.${name}`),
  "grpc.health.v1.HealthCheckRequest",
  "grpc.health.v1.HealthCheckResponse",
];

/** The sources of each `codec.ts`, by its path. */
export const codecs: ReadonlyMap<string, CodecSource> = new Map([
  [
    `${folder("store/bigtable/protos")}codec.ts`,
    {
      folder: folder("store/bigtable/protos"),
      files: ["bigtable.proto", "admin.proto"],
      int64: "./int64.js",
      runtime: "../packages.js",
      sent: [
        ...bigtable([
          "ReadRowsRequest",
          "SampleRowKeysRequest",
          "MutateRowRequest",
          "MutateRowsRequest",
          "CheckAndMutateRowRequest",
          "FeatureFlags",
        ]),
        ...admin([
          "CreateTableRequest",
          "GetTableRequest",
          "ModifyColumnFamiliesRequest",
          "GetAppProfileRequest",
        ]),
      ],
      taken: [
        ...bigtable([
          "ReadRowsResponse",
          "SampleRowKeysResponse",
          "MutateRowResponse",
          "MutateRowsResponse",
          "CheckAndMutateRowResponse",
        ]),
        ...admin(["Table", "AppProfile"]),
        "google.rpc.Status",
        "google.rpc.RetryInfo",
      ],
    },
  ],
  [
    `${folder("coordinator/protos")}codec.ts`,
    {
      folder: folder("coordinator/protos"),
      files: ["coordinator.proto", "health.proto"],
      runtime: "../packages.js",
      // The client sends what the service receives, and vice versa. A test uses both directions.
      sent: coordinator,
      taken: coordinator,
      enumerations: ["percolator.coordinator.v1.Life", "grpc.health.v1.HealthCheckResponse.ServingStatus"],
    },
  ],
]);

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  for (const [path, source] of codecs) writeFileSync(path, codecOf(source));
