import * as codec from "../protos/codec.js";

/** One method of the service: its path and its codecs. */
export interface Method<Request, Response> {
  readonly path: string;
  readonly encode: (request: Request) => Buffer;
  readonly decode: (bytes: Buffer) => Response;
}

const data = "/google.bigtable.v2.Bigtable";
const tables = "/google.bigtable.admin.v2.BigtableTableAdmin";
const instances = "/google.bigtable.admin.v2.BigtableInstanceAdmin";

function method<Request, Response>(
  path: string,
  encode: (request: Request) => Buffer,
  decode: (bytes: Buffer) => Response,
): Method<Request, Response> {
  return { path, encode, decode };
}

/** A request for rows with an encoded filter, which many requests share. */
export interface FilteredRowsRequest {
  readonly request: codec.ReadRowsRequest;
  readonly filter: EncodedFilter;
}

/** The encoded field `filter` of the request. The fields of a message may be in any order. */
export type EncodedFilter = Buffer;

export function encodeFilter(filter: codec.RowFilter): EncodedFilter {
  return codec.encodeReadRowsRequest({ filter });
}

export const readRows = method(
  `${data}/ReadRows`,
  ({ request, filter }: FilteredRowsRequest) => Buffer.concat([codec.encodeReadRowsRequest(request), filter]),
  codec.decodeReadRowsResponse,
);
export const sampleRowKeys = method(
  `${data}/SampleRowKeys`,
  codec.encodeSampleRowKeysRequest,
  codec.decodeSampleRowKeysResponse,
);
export const mutateRow = method(
  `${data}/MutateRow`,
  codec.encodeMutateRowRequest,
  codec.decodeMutateRowResponse,
);
export const mutateRows = method(
  `${data}/MutateRows`,
  codec.encodeMutateRowsRequest,
  codec.decodeMutateRowsResponse,
);
export const checkAndMutateRow = method(
  `${data}/CheckAndMutateRow`,
  codec.encodeCheckAndMutateRowRequest,
  codec.decodeCheckAndMutateRowResponse,
);
export const createTable = method(`${tables}/CreateTable`, codec.encodeCreateTableRequest, codec.decodeTable);
export const getTable = method(`${tables}/GetTable`, codec.encodeGetTableRequest, codec.decodeTable);
export const modifyColumnFamilies = method(
  `${tables}/ModifyColumnFamilies`,
  codec.encodeModifyColumnFamiliesRequest,
  codec.decodeTable,
);
export const getAppProfile = method(
  `${instances}/GetAppProfile`,
  codec.encodeGetAppProfileRequest,
  codec.decodeAppProfile,
);
