export {
  bytesTable,
  type ColumnDescription,
  codecFromTag,
  compareTables,
  describeTable,
  isSameColumn,
  mayReplace,
  mergeTables,
  plainCodec,
  storedVersion,
  type TableComparison,
  type TableDescription,
  tableFromDescription,
  type UntypedTable,
} from "./catalog.js";
export {
  type AnyColumn,
  bindColumn,
  type Column,
  type Family,
  isColumn,
  isFamily,
  isSignal,
  type Signal,
} from "./column.js";
export {
  type ColumnDefinition,
  type ColumnKind,
  type ColumnName,
  definition,
  type TableDefinition,
  type TableSource,
  type TableWriter,
} from "./definition.js";
export { describeNonFunction, describeValue } from "./describe.js";
export { type Feed, type FeedColumn, type FeedOptions, feed, isFeed } from "./feed.js";
export { type KeyCodec, type KeyPrefix, keyCost, keyPrefix, prefixEnd, textKey } from "./key/key.js";
export {
  columnPath,
  familyRange,
  isSystemPath,
  type PathParts,
  parsePath,
  type QualifierRange,
  qualifierBytes,
} from "./key/path.js";
export { type KeyParts, type TupleOf, tuple } from "./key/tuple.js";
export { limits } from "./limits.js";
export { checkName, type NameOf } from "./names.js";
export {
  checkCellKey,
  decodeRow,
  decodeValue,
  describeColumn,
  describeRow,
  encodePrefix,
  encodeRow,
  encodeValue,
  isShortText,
  lendRow,
  lentRow,
  valueErrorAt,
} from "./position.js";
export {
  encodePrefixText,
  keyPartTags,
  parseCellRowText,
  parsePrefixText,
  parseRowText,
} from "./row-text.js";
export {
  type AnyTable,
  bindTable,
  type ColumnDeclaration,
  type ColumnDeclarations,
  type FamilyDeclaration,
  family,
  isTable,
  type KeyOf,
  type RowOf,
  type SignalDeclaration,
  type StoredDeclaration,
  signal,
  storedAs,
  type Table,
  type TableOptions,
  table,
  tableColumns,
} from "./table.js";
export { formatValue, type Json, parseValue, valueFromJson, valueToJson } from "./text-form.js";
export { asBuffer, isWellFormed } from "./utf8.js";
export { bigint } from "./value/bigint.js";
export type { Codec, KeyPart, KeyPartTag } from "./value/codec.js";
export {
  type CompressedOptions,
  compressed,
  inflated,
  isCompressedTag,
  valueTag,
} from "./value/compressed.js";
export { type CodecFunctions, codec } from "./value/custom.js";
export { date } from "./value/date.js";
export { type JsonFit, json } from "./value/json.js";
export type { Conversions, JsonOptions, ValueVersions } from "./value/json-version.js";
export { oneOf } from "./value/one-of.js";
export { boolean, bytes, float, int, text } from "./value/scalars.js";
export type { SchemaIssue, SchemaResult, StandardSchema } from "./value/standard-schema.js";
