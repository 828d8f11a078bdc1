// Written by `npm run protos` from .proto files. Do not change it by hand.
import { Reader, Writer } from "../packages.js";
import { bits, type Int64, readInt64 } from "./int64.js";

const none: readonly never[] = [];
const noBytes = new Uint8Array(0);

/** `google.bigtable.v2.ReadRowsRequest` */
export interface ReadRowsRequest {
  tableName?: string | undefined;
  appProfileId?: string | undefined;
  rows?: RowSet | undefined;
  filter?: RowFilter | undefined;
  rowsLimit?: Int64 | undefined;
  reversed?: boolean | undefined;
}

/** `google.bigtable.v2.RowSet` */
export interface RowSet {
  rowKeys?: readonly Uint8Array[] | undefined;
  rowRanges?: readonly RowRange[] | undefined;
}

/** `google.bigtable.v2.RowRange` */
export interface RowRange {
  startKeyClosed?: Uint8Array | undefined;
  startKeyOpen?: Uint8Array | undefined;
  endKeyOpen?: Uint8Array | undefined;
  endKeyClosed?: Uint8Array | undefined;
}

/** `google.bigtable.v2.RowFilter` */
export interface RowFilter {
  chain?: RowFilterChain | undefined;
  interleave?: RowFilterInterleave | undefined;
  blockAllFilter?: boolean | undefined;
  columnRangeFilter?: ColumnRange | undefined;
  timestampRangeFilter?: TimestampRange | undefined;
  valueRangeFilter?: ValueRange | undefined;
  cellsPerRowOffsetFilter?: number | undefined;
  cellsPerRowLimitFilter?: number | undefined;
  cellsPerColumnLimitFilter?: number | undefined;
  stripValueTransformer?: boolean | undefined;
}

/** `google.bigtable.v2.RowFilter.Chain` */
export interface RowFilterChain {
  filters?: readonly RowFilter[] | undefined;
}

/** `google.bigtable.v2.RowFilter.Interleave` */
export interface RowFilterInterleave {
  filters?: readonly RowFilter[] | undefined;
}

/** `google.bigtable.v2.ColumnRange` */
export interface ColumnRange {
  familyName?: string | undefined;
  startQualifierClosed?: Uint8Array | undefined;
  startQualifierOpen?: Uint8Array | undefined;
  endQualifierClosed?: Uint8Array | undefined;
  endQualifierOpen?: Uint8Array | undefined;
}

/** `google.bigtable.v2.TimestampRange` */
export interface TimestampRange {
  startTimestampMicros?: Int64 | undefined;
  endTimestampMicros?: Int64 | undefined;
}

/** `google.bigtable.v2.ValueRange` */
export interface ValueRange {
  startValueClosed?: Uint8Array | undefined;
  startValueOpen?: Uint8Array | undefined;
  endValueClosed?: Uint8Array | undefined;
  endValueOpen?: Uint8Array | undefined;
}

/** `google.bigtable.v2.SampleRowKeysRequest` */
export interface SampleRowKeysRequest {
  tableName?: string | undefined;
  appProfileId?: string | undefined;
}

/** `google.bigtable.v2.MutateRowRequest` */
export interface MutateRowRequest {
  tableName?: string | undefined;
  appProfileId?: string | undefined;
  rowKey?: Uint8Array | undefined;
  mutations?: readonly Mutation[] | undefined;
}

/** `google.bigtable.v2.Mutation` */
export interface Mutation {
  setCell?: MutationSetCell | undefined;
  deleteFromColumn?: MutationDeleteFromColumn | undefined;
}

/** `google.bigtable.v2.Mutation.SetCell` */
export interface MutationSetCell {
  familyName?: string | undefined;
  columnQualifier?: Uint8Array | undefined;
  timestampMicros?: Int64 | undefined;
  value?: Uint8Array | undefined;
}

/** `google.bigtable.v2.Mutation.DeleteFromColumn` */
export interface MutationDeleteFromColumn {
  familyName?: string | undefined;
  columnQualifier?: Uint8Array | undefined;
  timeRange?: TimestampRange | undefined;
}

/** `google.bigtable.v2.MutateRowsRequest` */
export interface MutateRowsRequest {
  tableName?: string | undefined;
  appProfileId?: string | undefined;
  entries?: readonly MutateRowsRequestEntry[] | undefined;
}

/** `google.bigtable.v2.MutateRowsRequest.Entry` */
export interface MutateRowsRequestEntry {
  rowKey?: Uint8Array | undefined;
  mutations?: readonly Mutation[] | undefined;
}

/** `google.bigtable.v2.CheckAndMutateRowRequest` */
export interface CheckAndMutateRowRequest {
  tableName?: string | undefined;
  appProfileId?: string | undefined;
  rowKey?: Uint8Array | undefined;
  predicateFilter?: RowFilter | undefined;
  trueMutations?: readonly Mutation[] | undefined;
  falseMutations?: readonly Mutation[] | undefined;
}

/** `google.bigtable.v2.FeatureFlags` */
export interface FeatureFlags {
  reverseScans?: boolean | undefined;
  lastScannedRowResponses?: boolean | undefined;
  routingCookie?: boolean | undefined;
  retryInfo?: boolean | undefined;
}

/** `google.bigtable.admin.v2.CreateTableRequest` */
export interface CreateTableRequest {
  parent?: string | undefined;
  tableId?: string | undefined;
  table?: Table | undefined;
}

/** `google.bigtable.admin.v2.Table` */
export interface Table {
  name?: string | undefined;
  columnFamilies?: Record<string, ColumnFamily> | undefined;
  granularity?: number | undefined;
}

/** `google.bigtable.admin.v2.ColumnFamily` */
export interface ColumnFamily {
  gcRule?: GcRule | undefined;
}

/** `google.bigtable.admin.v2.GcRule` */
export interface GcRule {
  maxNumVersions?: number | undefined;
  maxAge?: Duration | undefined;
  intersection?: GcRuleIntersection | undefined;
  union?: GcRuleUnion | undefined;
}

/** `google.bigtable.admin.v2.Duration` */
export interface Duration {
  seconds?: Int64 | undefined;
  nanos?: number | undefined;
}

/** `google.bigtable.admin.v2.GcRule.Intersection` */
export interface GcRuleIntersection {
  rules?: readonly GcRule[] | undefined;
}

/** `google.bigtable.admin.v2.GcRule.Union` */
export interface GcRuleUnion {
  rules?: readonly GcRule[] | undefined;
}

/** `google.bigtable.admin.v2.GetTableRequest` */
export interface GetTableRequest {
  name?: string | undefined;
  view?: number | undefined;
}

/** `google.bigtable.admin.v2.ModifyColumnFamiliesRequest` */
export interface ModifyColumnFamiliesRequest {
  name?: string | undefined;
  modifications?: readonly ModifyColumnFamiliesRequestModification[] | undefined;
}

/** `google.bigtable.admin.v2.ModifyColumnFamiliesRequest.Modification` */
export interface ModifyColumnFamiliesRequestModification {
  id?: string | undefined;
  create?: ColumnFamily | undefined;
  update?: ColumnFamily | undefined;
  drop?: boolean | undefined;
}

/** `google.bigtable.admin.v2.GetAppProfileRequest` */
export interface GetAppProfileRequest {
  name?: string | undefined;
}

/** `google.bigtable.v2.ReadRowsResponse` */
export interface ReadRowsResponse {
  chunks?: readonly ReadRowsResponseCellChunk[] | undefined;
  lastScannedRowKey?: Uint8Array | undefined;
}

/** `google.bigtable.v2.ReadRowsResponse.CellChunk` */
export interface ReadRowsResponseCellChunk {
  rowKey?: Uint8Array | undefined;
  familyName?: string | undefined;
  qualifier?: Uint8Array | undefined;
  timestampMicros?: Int64 | undefined;
  value?: Uint8Array | undefined;
  valueSize?: number | undefined;
  resetRow?: boolean | undefined;
  commitRow?: boolean | undefined;
}

/** `google.bigtable.v2.SampleRowKeysResponse` */
export interface SampleRowKeysResponse {
  rowKey?: Uint8Array | undefined;
  offsetBytes?: Int64 | undefined;
}

/** `google.bigtable.v2.MutateRowResponse` */
export type MutateRowResponse = Record<string, never>;

/** `google.bigtable.v2.MutateRowsResponse` */
export interface MutateRowsResponse {
  entries?: readonly MutateRowsResponseEntry[] | undefined;
}

/** `google.bigtable.v2.MutateRowsResponse.Entry` */
export interface MutateRowsResponseEntry {
  index?: Int64 | undefined;
  status?: Status | undefined;
}

/** `google.rpc.Status` */
export interface Status {
  code?: number | undefined;
  message?: string | undefined;
  details?: readonly Any[] | undefined;
}

/** `google.rpc.Any` */
export interface Any {
  typeUrl?: string | undefined;
  value?: Uint8Array | undefined;
}

/** `google.bigtable.v2.CheckAndMutateRowResponse` */
export interface CheckAndMutateRowResponse {
  predicateMatched?: boolean | undefined;
}

/** `google.bigtable.admin.v2.AppProfile` */
export interface AppProfile {
  name?: string | undefined;
  multiClusterRoutingUseAny?: AppProfileMultiClusterRoutingUseAny | undefined;
  singleClusterRouting?: AppProfileSingleClusterRouting | undefined;
}

/** `google.bigtable.admin.v2.AppProfile.MultiClusterRoutingUseAny` */
export interface AppProfileMultiClusterRoutingUseAny {
  clusterIds?: readonly string[] | undefined;
}

/** `google.bigtable.admin.v2.AppProfile.SingleClusterRouting` */
export interface AppProfileSingleClusterRouting {
  clusterId?: string | undefined;
  allowTransactionalWrites?: boolean | undefined;
}

/** `google.rpc.RetryInfo` */
export interface RetryInfo {
  retryDelay?: RetryInfoDelay | undefined;
}

/** `google.rpc.RetryInfo.Delay` */
export interface RetryInfoDelay {
  seconds?: Int64 | undefined;
  nanos?: number | undefined;
}

export function encodeReadRowsRequest(message: ReadRowsRequest): Buffer {
  const w = Writer.create();
  writeReadRowsRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeSampleRowKeysRequest(message: SampleRowKeysRequest): Buffer {
  const w = Writer.create();
  writeSampleRowKeysRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeMutateRowRequest(message: MutateRowRequest): Buffer {
  const w = Writer.create();
  writeMutateRowRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeMutateRowsRequest(message: MutateRowsRequest): Buffer {
  const w = Writer.create();
  writeMutateRowsRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeCheckAndMutateRowRequest(message: CheckAndMutateRowRequest): Buffer {
  const w = Writer.create();
  writeCheckAndMutateRowRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeFeatureFlags(message: FeatureFlags): Buffer {
  const w = Writer.create();
  writeFeatureFlags(w, message);
  return w.finish() as Buffer;
}

export function encodeCreateTableRequest(message: CreateTableRequest): Buffer {
  const w = Writer.create();
  writeCreateTableRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeGetTableRequest(message: GetTableRequest): Buffer {
  const w = Writer.create();
  writeGetTableRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeModifyColumnFamiliesRequest(message: ModifyColumnFamiliesRequest): Buffer {
  const w = Writer.create();
  writeModifyColumnFamiliesRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeGetAppProfileRequest(message: GetAppProfileRequest): Buffer {
  const w = Writer.create();
  writeGetAppProfileRequest(w, message);
  return w.finish() as Buffer;
}

export function decodeReadRowsResponse(bytes: Uint8Array): ReadRowsResponse {
  const r = Reader.create(bytes);
  return readReadRowsResponse(r, r.len);
}

export function decodeSampleRowKeysResponse(bytes: Uint8Array): SampleRowKeysResponse {
  const r = Reader.create(bytes);
  return readSampleRowKeysResponse(r, r.len);
}

export function decodeMutateRowResponse(bytes: Uint8Array): MutateRowResponse {
  const r = Reader.create(bytes);
  return readMutateRowResponse(r, r.len);
}

export function decodeMutateRowsResponse(bytes: Uint8Array): MutateRowsResponse {
  const r = Reader.create(bytes);
  return readMutateRowsResponse(r, r.len);
}

export function decodeCheckAndMutateRowResponse(bytes: Uint8Array): CheckAndMutateRowResponse {
  const r = Reader.create(bytes);
  return readCheckAndMutateRowResponse(r, r.len);
}

export function decodeTable(bytes: Uint8Array): Table {
  const r = Reader.create(bytes);
  return readTable(r, r.len);
}

export function decodeAppProfile(bytes: Uint8Array): AppProfile {
  const r = Reader.create(bytes);
  return readAppProfile(r, r.len);
}

export function decodeStatus(bytes: Uint8Array): Status {
  const r = Reader.create(bytes);
  return readStatus(r, r.len);
}

export function decodeRetryInfo(bytes: Uint8Array): RetryInfo {
  const r = Reader.create(bytes);
  return readRetryInfo(r, r.len);
}

function writeReadRowsRequest(w: Writer, m: ReadRowsRequest): void {
  if (m.tableName) {
    w.uint32(10).string(m.tableName);
  }
  if (m.appProfileId) {
    w.uint32(42).string(m.appProfileId);
  }
  if (m.rows !== undefined) {
    w.uint32(18).fork();
    writeRowSet(w, m.rows);
    w.ldelim();
  }
  if (m.filter !== undefined) {
    w.uint32(26).fork();
    writeRowFilter(w, m.filter);
    w.ldelim();
  }
  if (m.rowsLimit) {
    w.uint32(32).int64(bits(m.rowsLimit));
  }
  if (m.reversed) {
    w.uint32(56).bool(m.reversed);
  }
}

function writeRowSet(w: Writer, m: RowSet): void {
  for (const each of m.rowKeys ?? none) {
    w.uint32(10).bytes(each);
  }
  for (const each of m.rowRanges ?? none) {
    w.uint32(18).fork();
    writeRowRange(w, each);
    w.ldelim();
  }
}

function writeRowRange(w: Writer, m: RowRange): void {
  if (m.startKeyClosed !== undefined) {
    w.uint32(10).bytes(m.startKeyClosed);
  }
  if (m.startKeyOpen !== undefined) {
    w.uint32(18).bytes(m.startKeyOpen);
  }
  if (m.endKeyOpen !== undefined) {
    w.uint32(26).bytes(m.endKeyOpen);
  }
  if (m.endKeyClosed !== undefined) {
    w.uint32(34).bytes(m.endKeyClosed);
  }
}

function writeRowFilter(w: Writer, m: RowFilter): void {
  if (m.chain !== undefined) {
    w.uint32(10).fork();
    writeRowFilterChain(w, m.chain);
    w.ldelim();
  }
  if (m.interleave !== undefined) {
    w.uint32(18).fork();
    writeRowFilterInterleave(w, m.interleave);
    w.ldelim();
  }
  if (m.blockAllFilter !== undefined) {
    w.uint32(144).bool(m.blockAllFilter);
  }
  if (m.columnRangeFilter !== undefined) {
    w.uint32(58).fork();
    writeColumnRange(w, m.columnRangeFilter);
    w.ldelim();
  }
  if (m.timestampRangeFilter !== undefined) {
    w.uint32(66).fork();
    writeTimestampRange(w, m.timestampRangeFilter);
    w.ldelim();
  }
  if (m.valueRangeFilter !== undefined) {
    w.uint32(122).fork();
    writeValueRange(w, m.valueRangeFilter);
    w.ldelim();
  }
  if (m.cellsPerRowOffsetFilter !== undefined) {
    w.uint32(80).int32(m.cellsPerRowOffsetFilter);
  }
  if (m.cellsPerRowLimitFilter !== undefined) {
    w.uint32(88).int32(m.cellsPerRowLimitFilter);
  }
  if (m.cellsPerColumnLimitFilter !== undefined) {
    w.uint32(96).int32(m.cellsPerColumnLimitFilter);
  }
  if (m.stripValueTransformer !== undefined) {
    w.uint32(104).bool(m.stripValueTransformer);
  }
}

function writeRowFilterChain(w: Writer, m: RowFilterChain): void {
  for (const each of m.filters ?? none) {
    w.uint32(10).fork();
    writeRowFilter(w, each);
    w.ldelim();
  }
}

function writeRowFilterInterleave(w: Writer, m: RowFilterInterleave): void {
  for (const each of m.filters ?? none) {
    w.uint32(10).fork();
    writeRowFilter(w, each);
    w.ldelim();
  }
}

function writeColumnRange(w: Writer, m: ColumnRange): void {
  if (m.familyName) {
    w.uint32(10).string(m.familyName);
  }
  if (m.startQualifierClosed !== undefined) {
    w.uint32(18).bytes(m.startQualifierClosed);
  }
  if (m.startQualifierOpen !== undefined) {
    w.uint32(26).bytes(m.startQualifierOpen);
  }
  if (m.endQualifierClosed !== undefined) {
    w.uint32(34).bytes(m.endQualifierClosed);
  }
  if (m.endQualifierOpen !== undefined) {
    w.uint32(42).bytes(m.endQualifierOpen);
  }
}

function writeTimestampRange(w: Writer, m: TimestampRange): void {
  if (m.startTimestampMicros) {
    w.uint32(8).int64(bits(m.startTimestampMicros));
  }
  if (m.endTimestampMicros) {
    w.uint32(16).int64(bits(m.endTimestampMicros));
  }
}

function writeValueRange(w: Writer, m: ValueRange): void {
  if (m.startValueClosed !== undefined) {
    w.uint32(10).bytes(m.startValueClosed);
  }
  if (m.startValueOpen !== undefined) {
    w.uint32(18).bytes(m.startValueOpen);
  }
  if (m.endValueClosed !== undefined) {
    w.uint32(26).bytes(m.endValueClosed);
  }
  if (m.endValueOpen !== undefined) {
    w.uint32(34).bytes(m.endValueOpen);
  }
}

function writeSampleRowKeysRequest(w: Writer, m: SampleRowKeysRequest): void {
  if (m.tableName) {
    w.uint32(10).string(m.tableName);
  }
  if (m.appProfileId) {
    w.uint32(18).string(m.appProfileId);
  }
}

function writeMutateRowRequest(w: Writer, m: MutateRowRequest): void {
  if (m.tableName) {
    w.uint32(10).string(m.tableName);
  }
  if (m.appProfileId) {
    w.uint32(34).string(m.appProfileId);
  }
  if (m.rowKey !== undefined && m.rowKey.length > 0) {
    w.uint32(18).bytes(m.rowKey);
  }
  for (const each of m.mutations ?? none) {
    w.uint32(26).fork();
    writeMutation(w, each);
    w.ldelim();
  }
}

function writeMutation(w: Writer, m: Mutation): void {
  if (m.setCell !== undefined) {
    w.uint32(10).fork();
    writeMutationSetCell(w, m.setCell);
    w.ldelim();
  }
  if (m.deleteFromColumn !== undefined) {
    w.uint32(18).fork();
    writeMutationDeleteFromColumn(w, m.deleteFromColumn);
    w.ldelim();
  }
}

function writeMutationSetCell(w: Writer, m: MutationSetCell): void {
  if (m.familyName) {
    w.uint32(10).string(m.familyName);
  }
  if (m.columnQualifier !== undefined && m.columnQualifier.length > 0) {
    w.uint32(18).bytes(m.columnQualifier);
  }
  if (m.timestampMicros) {
    w.uint32(24).int64(bits(m.timestampMicros));
  }
  if (m.value !== undefined && m.value.length > 0) {
    w.uint32(34).bytes(m.value);
  }
}

function writeMutationDeleteFromColumn(w: Writer, m: MutationDeleteFromColumn): void {
  if (m.familyName) {
    w.uint32(10).string(m.familyName);
  }
  if (m.columnQualifier !== undefined && m.columnQualifier.length > 0) {
    w.uint32(18).bytes(m.columnQualifier);
  }
  if (m.timeRange !== undefined) {
    w.uint32(26).fork();
    writeTimestampRange(w, m.timeRange);
    w.ldelim();
  }
}

function writeMutateRowsRequest(w: Writer, m: MutateRowsRequest): void {
  if (m.tableName) {
    w.uint32(10).string(m.tableName);
  }
  if (m.appProfileId) {
    w.uint32(26).string(m.appProfileId);
  }
  for (const each of m.entries ?? none) {
    w.uint32(18).fork();
    writeMutateRowsRequestEntry(w, each);
    w.ldelim();
  }
}

function writeMutateRowsRequestEntry(w: Writer, m: MutateRowsRequestEntry): void {
  if (m.rowKey !== undefined && m.rowKey.length > 0) {
    w.uint32(10).bytes(m.rowKey);
  }
  for (const each of m.mutations ?? none) {
    w.uint32(18).fork();
    writeMutation(w, each);
    w.ldelim();
  }
}

function writeCheckAndMutateRowRequest(w: Writer, m: CheckAndMutateRowRequest): void {
  if (m.tableName) {
    w.uint32(10).string(m.tableName);
  }
  if (m.appProfileId) {
    w.uint32(58).string(m.appProfileId);
  }
  if (m.rowKey !== undefined && m.rowKey.length > 0) {
    w.uint32(18).bytes(m.rowKey);
  }
  if (m.predicateFilter !== undefined) {
    w.uint32(50).fork();
    writeRowFilter(w, m.predicateFilter);
    w.ldelim();
  }
  for (const each of m.trueMutations ?? none) {
    w.uint32(34).fork();
    writeMutation(w, each);
    w.ldelim();
  }
  for (const each of m.falseMutations ?? none) {
    w.uint32(42).fork();
    writeMutation(w, each);
    w.ldelim();
  }
}

function writeFeatureFlags(w: Writer, m: FeatureFlags): void {
  if (m.reverseScans) {
    w.uint32(8).bool(m.reverseScans);
  }
  if (m.lastScannedRowResponses) {
    w.uint32(32).bool(m.lastScannedRowResponses);
  }
  if (m.routingCookie) {
    w.uint32(48).bool(m.routingCookie);
  }
  if (m.retryInfo) {
    w.uint32(56).bool(m.retryInfo);
  }
}

function writeCreateTableRequest(w: Writer, m: CreateTableRequest): void {
  if (m.parent) {
    w.uint32(10).string(m.parent);
  }
  if (m.tableId) {
    w.uint32(18).string(m.tableId);
  }
  if (m.table !== undefined) {
    w.uint32(26).fork();
    writeTable(w, m.table);
    w.ldelim();
  }
}

function writeTable(w: Writer, m: Table): void {
  if (m.name) {
    w.uint32(10).string(m.name);
  }
  for (const [key, value] of Object.entries(m.columnFamilies ?? {})) {
    w.uint32(26).fork();
    w.uint32(10).string(key);
    w.uint32(18).fork();
    writeColumnFamily(w, value);
    w.ldelim();
    w.ldelim();
  }
  if (m.granularity) {
    w.uint32(32).int32(m.granularity);
  }
}

function writeColumnFamily(w: Writer, m: ColumnFamily): void {
  if (m.gcRule !== undefined) {
    w.uint32(10).fork();
    writeGcRule(w, m.gcRule);
    w.ldelim();
  }
}

function writeGcRule(w: Writer, m: GcRule): void {
  if (m.maxNumVersions !== undefined) {
    w.uint32(8).int32(m.maxNumVersions);
  }
  if (m.maxAge !== undefined) {
    w.uint32(18).fork();
    writeDuration(w, m.maxAge);
    w.ldelim();
  }
  if (m.intersection !== undefined) {
    w.uint32(26).fork();
    writeGcRuleIntersection(w, m.intersection);
    w.ldelim();
  }
  if (m.union !== undefined) {
    w.uint32(34).fork();
    writeGcRuleUnion(w, m.union);
    w.ldelim();
  }
}

function writeDuration(w: Writer, m: Duration): void {
  if (m.seconds) {
    w.uint32(8).int64(bits(m.seconds));
  }
  if (m.nanos) {
    w.uint32(16).int32(m.nanos);
  }
}

function writeGcRuleIntersection(w: Writer, m: GcRuleIntersection): void {
  for (const each of m.rules ?? none) {
    w.uint32(10).fork();
    writeGcRule(w, each);
    w.ldelim();
  }
}

function writeGcRuleUnion(w: Writer, m: GcRuleUnion): void {
  for (const each of m.rules ?? none) {
    w.uint32(10).fork();
    writeGcRule(w, each);
    w.ldelim();
  }
}

function writeGetTableRequest(w: Writer, m: GetTableRequest): void {
  if (m.name) {
    w.uint32(10).string(m.name);
  }
  if (m.view) {
    w.uint32(16).int32(m.view);
  }
}

function writeModifyColumnFamiliesRequest(w: Writer, m: ModifyColumnFamiliesRequest): void {
  if (m.name) {
    w.uint32(10).string(m.name);
  }
  for (const each of m.modifications ?? none) {
    w.uint32(18).fork();
    writeModifyColumnFamiliesRequestModification(w, each);
    w.ldelim();
  }
}

function writeModifyColumnFamiliesRequestModification(
  w: Writer,
  m: ModifyColumnFamiliesRequestModification,
): void {
  if (m.id) {
    w.uint32(10).string(m.id);
  }
  if (m.create !== undefined) {
    w.uint32(18).fork();
    writeColumnFamily(w, m.create);
    w.ldelim();
  }
  if (m.update !== undefined) {
    w.uint32(26).fork();
    writeColumnFamily(w, m.update);
    w.ldelim();
  }
  if (m.drop !== undefined) {
    w.uint32(32).bool(m.drop);
  }
}

function writeGetAppProfileRequest(w: Writer, m: GetAppProfileRequest): void {
  if (m.name) {
    w.uint32(10).string(m.name);
  }
}

function readReadRowsResponse(r: Reader, length: number): ReadRowsResponse {
  const m: ReadRowsResponse = { chunks: undefined, lastScannedRowKey: undefined };
  let chunks: ReadRowsResponseCellChunk[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        chunks ??= [];
        chunks.push(readReadRowsResponseCellChunk(r, r.uint32()));
        break;
      case 2:
        m.lastScannedRowKey = r.bytes();
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.chunks = chunks;
  return m;
}

function readReadRowsResponseCellChunk(r: Reader, length: number): ReadRowsResponseCellChunk {
  const m: ReadRowsResponseCellChunk = {
    rowKey: undefined,
    familyName: undefined,
    qualifier: undefined,
    timestampMicros: undefined,
    value: undefined,
    valueSize: undefined,
    resetRow: undefined,
    commitRow: undefined,
  };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.rowKey = r.bytes();
        break;
      case 2:
        m.familyName = readStringValue(r, r.uint32());
        break;
      case 3:
        m.qualifier = readBytesValue(r, r.uint32());
        break;
      case 4:
        m.timestampMicros = readInt64(r);
        break;
      case 6:
        m.value = r.bytes();
        break;
      case 7:
        m.valueSize = r.int32();
        break;
      case 8:
        m.resetRow = r.bool();
        break;
      case 9:
        m.commitRow = r.bool();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readSampleRowKeysResponse(r: Reader, length: number): SampleRowKeysResponse {
  const m: SampleRowKeysResponse = { rowKey: undefined, offsetBytes: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.rowKey = r.bytes();
        break;
      case 2:
        m.offsetBytes = readInt64(r);
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readMutateRowResponse(r: Reader, length: number): MutateRowResponse {
  const m: MutateRowResponse = {};

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readMutateRowsResponse(r: Reader, length: number): MutateRowsResponse {
  const m: MutateRowsResponse = { entries: undefined };
  let entries: MutateRowsResponseEntry[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        entries ??= [];
        entries.push(readMutateRowsResponseEntry(r, r.uint32()));
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.entries = entries;
  return m;
}

function readMutateRowsResponseEntry(r: Reader, length: number): MutateRowsResponseEntry {
  const m: MutateRowsResponseEntry = { index: undefined, status: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.index = readInt64(r);
        break;
      case 2:
        m.status = readStatus(r, r.uint32());
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readStatus(r: Reader, length: number): Status {
  const m: Status = { code: undefined, message: undefined, details: undefined };
  let details: Any[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.code = r.int32();
        break;
      case 2:
        m.message = r.string();
        break;
      case 3:
        details ??= [];
        details.push(readAny(r, r.uint32()));
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.details = details;
  return m;
}

function readAny(r: Reader, length: number): Any {
  const m: Any = { typeUrl: undefined, value: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.typeUrl = r.string();
        break;
      case 2:
        m.value = r.bytes();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readCheckAndMutateRowResponse(r: Reader, length: number): CheckAndMutateRowResponse {
  const m: CheckAndMutateRowResponse = { predicateMatched: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.predicateMatched = r.bool();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readTable(r: Reader, length: number): Table {
  const m: Table = { name: undefined, columnFamilies: undefined, granularity: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.name = r.string();
        break;
      case 3: {
        const [key, value] = readEntry(r, r.uint32(), readColumnFamily);
        m.columnFamilies ??= {};
        m.columnFamilies[key] = value;
        break;
      }
      case 4:
        m.granularity = r.int32();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readColumnFamily(r: Reader, length: number): ColumnFamily {
  const m: ColumnFamily = { gcRule: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.gcRule = readGcRule(r, r.uint32());
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readGcRule(r: Reader, length: number): GcRule {
  const m: GcRule = {
    maxNumVersions: undefined,
    maxAge: undefined,
    intersection: undefined,
    union: undefined,
  };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.maxNumVersions = r.int32();
        break;
      case 2:
        m.maxAge = readDuration(r, r.uint32());
        break;
      case 3:
        m.intersection = readGcRuleIntersection(r, r.uint32());
        break;
      case 4:
        m.union = readGcRuleUnion(r, r.uint32());
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readDuration(r: Reader, length: number): Duration {
  const m: Duration = { seconds: undefined, nanos: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.seconds = readInt64(r);
        break;
      case 2:
        m.nanos = r.int32();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readGcRuleIntersection(r: Reader, length: number): GcRuleIntersection {
  const m: GcRuleIntersection = { rules: undefined };
  let rules: GcRule[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        rules ??= [];
        rules.push(readGcRule(r, r.uint32()));
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.rules = rules;
  return m;
}

function readGcRuleUnion(r: Reader, length: number): GcRuleUnion {
  const m: GcRuleUnion = { rules: undefined };
  let rules: GcRule[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        rules ??= [];
        rules.push(readGcRule(r, r.uint32()));
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.rules = rules;
  return m;
}

function readAppProfile(r: Reader, length: number): AppProfile {
  const m: AppProfile = {
    name: undefined,
    multiClusterRoutingUseAny: undefined,
    singleClusterRouting: undefined,
  };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.name = r.string();
        break;
      case 5:
        m.multiClusterRoutingUseAny = readAppProfileMultiClusterRoutingUseAny(r, r.uint32());
        break;
      case 6:
        m.singleClusterRouting = readAppProfileSingleClusterRouting(r, r.uint32());
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readAppProfileMultiClusterRoutingUseAny(
  r: Reader,
  length: number,
): AppProfileMultiClusterRoutingUseAny {
  const m: AppProfileMultiClusterRoutingUseAny = { clusterIds: undefined };
  let clusterIds: string[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        clusterIds ??= [];
        clusterIds.push(r.string());
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.clusterIds = clusterIds;
  return m;
}

function readAppProfileSingleClusterRouting(r: Reader, length: number): AppProfileSingleClusterRouting {
  const m: AppProfileSingleClusterRouting = { clusterId: undefined, allowTransactionalWrites: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.clusterId = r.string();
        break;
      case 2:
        m.allowTransactionalWrites = r.bool();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readRetryInfo(r: Reader, length: number): RetryInfo {
  const m: RetryInfo = { retryDelay: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.retryDelay = readRetryInfoDelay(r, r.uint32());
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readRetryInfoDelay(r: Reader, length: number): RetryInfoDelay {
  const m: RetryInfoDelay = { seconds: undefined, nanos: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.seconds = readInt64(r);
        break;
      case 2:
        m.nanos = r.int32();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readStringValue(r: Reader, length: number): string {
  let value: string | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    if (tag >>> 3 === 1) value = r.string();
    else r.skipType(tag & 7);
  }
  return value ?? "";
}

function readBytesValue(r: Reader, length: number): Uint8Array {
  let value: Uint8Array | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    if (tag >>> 3 === 1) value = r.bytes();
    else r.skipType(tag & 7);
  }
  return value ?? noBytes;
}

function readEntry<T>(
  r: Reader,
  length: number,
  readValue: (r: Reader, length: number) => T,
): readonly [string, T] {
  let key = "";
  let value: T | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    if (tag >>> 3 === 1) key = r.string();
    else if (tag >>> 3 === 2) value = readValue(r, r.uint32());
    else r.skipType(tag & 7);
  }
  return [key, value ?? readValue(r, 0)];
}
