export { bigint } from "./bigint.js";
export {
  bytesTable,
  type ColumnDescription,
  codecFromTag,
  compareTables,
  describeTable,
  isSameColumn,
  mergeTables,
  plainCodec,
  type TableComparison,
  type TableDescription,
  tableFromDescription,
  type UntypedTable,
} from "./catalog.js";
export type { Codec, KeyPart, KeyPartTag } from "./codec.js";
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
export { type CodecFunctions, codec } from "./custom.js";
export { date } from "./date.js";
export {
  type ColumnDefinition,
  type ColumnKind,
  type ColumnName,
  definition,
  type TableDefinition,
  type TableWriter,
} from "./definition.js";
export { describeValue } from "./describe.js";
export { type JsonFit, json } from "./json.js";
export { type KeyCodec, type KeyPrefix, keyCost, keyPrefix, prefixEnd, textKey } from "./key.js";
export { limits } from "./limits.js";
export { checkName, type NameOf } from "./names.js";
export { oneOf } from "./one-of.js";
export {
  columnPath,
  familyRange,
  isSystemPath,
  type PathParts,
  parsePath,
  type QualifierRange,
  qualifierBytes,
} from "./path.js";
export {
  checkCellKey,
  decodeRow,
  decodeValue,
  describeColumn,
  describeRow,
  encodePrefix,
  encodeRow,
  encodeValue,
  lendRow,
  lentRow,
  valueErrorAt,
} from "./position.js";
export { parseCellRowText, parsePrefixText, parseRowText } from "./row-text.js";
export { boolean, bytes, float, int, text } from "./scalars.js";
export type { SchemaIssue, SchemaResult, StandardSchema } from "./standard-schema.js";
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
  signal,
  type Table,
  type TableOptions,
  table,
  tableColumns,
} from "./table.js";
export { formatValue, type Json, parseValue, valueToJson } from "./text-form.js";
export { type KeyParts, type TupleOf, tuple } from "./tuple.js";
