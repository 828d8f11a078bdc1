// Writes codec.ts from the .proto files beside it: an interface for each message that the store sends or takes, and a
// function that encodes or decodes it. Run it with `npm run protos`.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import protobuf from "protobufjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

const sent = [
  "bigtable.v2.ReadRowsRequest",
  "bigtable.v2.SampleRowKeysRequest",
  "bigtable.v2.MutateRowRequest",
  "bigtable.v2.MutateRowsRequest",
  "bigtable.v2.CheckAndMutateRowRequest",
  "bigtable.v2.FeatureFlags",
  "bigtable.admin.v2.CreateTableRequest",
  "bigtable.admin.v2.ListTablesRequest",
  "bigtable.admin.v2.GetTableRequest",
  "bigtable.admin.v2.ModifyColumnFamiliesRequest",
  "bigtable.admin.v2.DropRowRangeRequest",
  "bigtable.admin.v2.GetAppProfileRequest",
];
const taken = [
  "bigtable.v2.ReadRowsResponse",
  "bigtable.v2.SampleRowKeysResponse",
  "bigtable.v2.MutateRowResponse",
  "bigtable.v2.MutateRowsResponse",
  "bigtable.v2.CheckAndMutateRowResponse",
  "bigtable.admin.v2.Empty",
  "bigtable.admin.v2.Table",
  "bigtable.admin.v2.ListTablesResponse",
  "bigtable.admin.v2.AppProfile",
];

const scalars = {
  bool: { type: "boolean", wire: 0 },
  int32: { type: "number", wire: 0 },
  int64: { type: "Int64", wire: 0 },
  string: { type: "string", wire: 2 },
  bytes: { type: "Uint8Array", wire: 2 },
};

const root = new protobuf.Root();
root.resolvePath = (_, path) => (path.startsWith("google/") ? path : here(path));
root.loadSync(["bigtable.proto", "admin.proto"]).resolveAll();

const typeOf = (name) => root.lookupType(`google.${name}`);
const nameOf = (type) => {
  const names = [];
  for (let at = type; at instanceof protobuf.Type; at = at.parent) names.unshift(at.name);
  return names.join("");
};
const property = (field) => field.name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const isWrapper = (type) => type?.fullName.startsWith(".google.protobuf.") === true;
const isMessage = (field) => field.resolvedType instanceof protobuf.Type && !isWrapper(field.resolvedType);
const scalarOf = (field) => scalars[field.resolvedType instanceof protobuf.Enum ? "int32" : field.type];

/** All messages that `names` lead to. */
function reached(names) {
  const found = new Set();
  const visit = (type) => {
    if (found.has(type)) return;
    found.add(type);
    for (const field of type.fieldsArray) if (isMessage(field)) visit(field.resolvedType);
  };
  for (const name of names) visit(typeOf(name));
  return found;
}

function elementType(field) {
  if (isWrapper(field.resolvedType)) return scalars[field.resolvedType.fields.value.type].type;
  return isMessage(field) ? nameOf(field.resolvedType) : scalarOf(field).type;
}

function fieldType(field) {
  if (field.map) return `Record<string, ${elementType(field)}>`;
  return field.repeated ? `readonly ${elementType(field)}[]` : elementType(field);
}

function declaration(type) {
  const fields = type.fieldsArray.map((field) => `  ${property(field)}?: ${fieldType(field)} | undefined;`);
  const comment = `/** \`${type.fullName.slice(1)}\` */\n`;
  if (fields.length === 0) return `${comment}export type ${nameOf(type)} = Record<string, never>;\n`;
  return `${comment}export interface ${nameOf(type)} {\n${fields.join("\n")}\n}\n`;
}

function writeValue(field, value) {
  const tag = (wire) => `w.uint32(${(field.id << 3) | wire})`;
  if (isMessage(field))
    return `${tag(2)}.fork();\n    write${nameOf(field.resolvedType)}(w, ${value});\n    w.ldelim();`;
  const method = field.resolvedType instanceof protobuf.Enum ? "int32" : field.type;
  return `${tag(scalarOf(field).wire)}.${method}(${method === "int64" ? `bits(${value})` : value});`;
}

function writeMap(field, source) {
  const tag = (field.id << 3) | 2;
  return `  for (const [key, value] of Object.entries(${source} ?? {})) {
    w.uint32(${tag}).fork();
    w.uint32(10).string(key);
    w.uint32(18).fork();
    write${nameOf(field.resolvedType)}(w, value);
    w.ldelim();
    w.ldelim();
  }`;
}

/** Fields of a oneof are written whenever they are set; others only where they differ from the default. */
function writeField(field) {
  const source = `m.${property(field)}`;
  if (field.map) return writeMap(field, source);
  if (field.repeated) {
    return `  for (const each of ${source} ?? none) {\n    ${writeValue(field, "each")}\n  }`;
  }
  const explicit = isMessage(field) || field.partOf !== null;
  const set = explicit
    ? `${source} !== undefined`
    : scalarOf(field).type === "Uint8Array"
      ? `${source} !== undefined && ${source}.length > 0`
      : source;
  return `  if (${set}) {\n    ${writeValue(field, source)}\n  }`;
}

function encoder(type) {
  return `function write${nameOf(type)}(${type.fieldsArray.length === 0 ? "_w" : "w"}: Writer, ${type.fieldsArray.length === 0 ? "_m" : "m"}: ${nameOf(type)}): void {
${type.fieldsArray.map(writeField).join("\n")}
}
`;
}

function readValue(field) {
  if (isWrapper(field.resolvedType)) return `read${field.resolvedType.name}(r, r.uint32())`;
  if (isMessage(field)) return `read${nameOf(field.resolvedType)}(r, r.uint32())`;
  if (field.resolvedType instanceof protobuf.Enum) return "r.int32()";
  return field.type === "int64" ? "readInt64(r)" : `r.${field.type}()`;
}

function readField(field) {
  const target = `m.${property(field)}`;
  if (field.map)
    return `    case ${field.id}: {
        const [key, value] = readEntry(r, r.uint32(), read${nameOf(field.resolvedType)});
        ${target} ??= {};
        ${target}[key] = value;
        break;
      }`;
  if (field.repeated)
    return `    case ${field.id}:
        ${property(field)} ??= [];
        ${property(field)}.push(${readValue(field)});
        break;`;
  return `    case ${field.id}:
        ${target} = ${readValue(field)};
        break;`;
}

function decoder(type) {
  const name = nameOf(type);
  const fields = type.fieldsArray;
  const lists = fields.filter((field) => field.repeated);
  const start = fields.map((field) => `${property(field)}: undefined`).join(", ");
  return `function read${name}(r: Reader, length: number): ${name} {
  const m: ${name} = { ${start} };
${lists.map((field) => `  let ${property(field)}: ${elementType(field)}[] | undefined;`).join("\n")}
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
  ${fields.map(readField).join("\n  ")}
      default:
        r.skipType(tag & 7);
    }
  }
${lists.map((field) => `  m.${property(field)} = ${property(field)};`).join("\n")}
  return m;
}
`;
}

const encoded = reached(sent);
const decoded = reached(taken);
const wrappers = new Map();
for (const type of decoded) {
  for (const field of type.fieldsArray) {
    if (isWrapper(field.resolvedType))
      wrappers.set(field.resolvedType.name, field.resolvedType.fields.value.type);
  }
}

const entryPoints = [
  ...sent.map((name) => {
    const type = nameOf(typeOf(name));
    return `export function encode${type}(message: ${type}): Buffer {
  const w = Writer.create();
  write${type}(w, message);
  return w.finish() as Buffer;
}
`;
  }),
  ...taken.map((name) => {
    const type = nameOf(typeOf(name));
    return `export function decode${type}(bytes: Buffer): ${type} {
  const r = Reader.create(bytes);
  return read${type}(r, r.len);
}
`;
  }),
];

const wrapperReaders = [...wrappers].map(
  ([name, type]) => `function read${name}(r: Reader, length: number): ${scalars[type].type} {
  let value: ${scalars[type].type} | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    if (tag >>> 3 === 1) value = r.${type}();
    else r.skipType(tag & 7);
  }
  return value ?? ${type === "string" ? '""' : "noBytes"};
}
`,
);

const text = `// Written by generate.mjs from the .proto files beside it. Do not change it by hand.
import protobuf from "protobufjs/minimal.js";
import { bits, type Int64, readInt64 } from "./int64.js";

type Reader = protobuf.Reader;
type Writer = protobuf.Writer;
const { Reader, Writer } = protobuf;

const none: readonly never[] = [];
const noBytes = new Uint8Array(0);

${[...new Set([...encoded, ...decoded])].map(declaration).join("\n")}
${entryPoints.join("\n")}
${[...encoded].map(encoder).join("\n")}
${[...decoded].map(decoder).join("\n")}
${wrapperReaders.join("\n")}
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
`;

writeFileSync(here("codec.ts"), text.replace(/\n{3,}/g, "\n\n"));
