import { join } from "node:path";
import protobuf from "protobufjs";

export interface CodecSource {
  /** The folder of the `.proto` files. */
  readonly folder: string;
  readonly files: readonly string[];
  /** Full names of the messages that are encoded. */
  readonly sent: readonly string[];
  /** Full names of the messages that are decoded. */
  readonly taken: readonly string[];
  /** Full names of the enumerations whose values are named. */
  readonly enumerations?: readonly string[];
  /**
   * The module that exports `Int64`, with two halves for each 64-bit integer. If absent, 64-bit
   * integers are numbers, which must not exceed 2^53.
   */
  readonly int64?: string;
  /** The module that exports `Reader` and `Writer` of protobufjs. */
  readonly runtime: string;
}

/**
 * Generates the TypeScript of a codec: an interface for each message, a function that encodes or
 * decodes it, and the enumerations' values.
 */
export function codecOf(source: CodecSource): string {
  const root = new protobuf.Root();
  root.resolvePath = (_, path) => (path.startsWith("google/") ? path : join(source.folder, path));
  root.loadSync([...source.files]).resolveAll();
  const writer = new CodecWriter(source.int64 !== undefined);
  const sent = source.sent.map((name) => root.lookupType(name));
  const taken = source.taken.map((name) => root.lookupType(name));
  const enumerations = (source.enumerations ?? []).map((name) => root.lookupEnum(name));
  return writer
    .module({ sent, taken, enumerations, int64: source.int64, runtime: source.runtime })
    .replace(/\n{3,}/g, "\n\n");
}

interface Scalar {
  readonly type: string;
  readonly wire: 0 | 2;
  /** The generated expression that reads a value. */
  readonly read: string;
  /** Returns the generated call that writes a value. */
  readonly write: (value: string) => string;
}

function plain(type: string, method: string, wire: 0 | 2): Scalar {
  return { type, wire, read: `r.${method}()`, write: (value) => `${method}(${value})` };
}

function whole(method: string, isExact: boolean): Scalar {
  if (!isExact)
    return {
      type: "number",
      wire: 0,
      read: `Number(r.${method}())`,
      write: (value) => `${method}(${value})`,
    };
  return { type: "Int64", wire: 0, read: "readInt64(r)", write: (value) => `${method}(bits(${value}))` };
}

const isWrapper = (type: protobuf.ReflectionObject | null) =>
  type?.fullName.startsWith(".google.protobuf.") === true;

const messageOf = ({ resolvedType }: protobuf.Field) =>
  resolvedType instanceof protobuf.Type && !isWrapper(resolvedType) ? resolvedType : undefined;

/** The name of a type as one word, even if it is nested in others. */
function nameOf(type: protobuf.ReflectionObject): string {
  const { parent } = type;
  return parent instanceof protobuf.Type ? nameOf(parent) + type.name : type.name;
}

const property = ({ name }: protobuf.Field) =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Returns all messages that can be reached from these. */
function reached(types: readonly protobuf.Type[]): ReadonlySet<protobuf.Type> {
  const found = new Set<protobuf.Type>();
  const visit = (type: protobuf.Type) => {
    if (found.has(type)) return;
    found.add(type);
    for (const field of type.fieldsArray) {
      const message = messageOf(field);
      if (message !== undefined) visit(message);
    }
  };
  for (const type of types) visit(type);
  return found;
}

interface Parts {
  readonly sent: readonly protobuf.Type[];
  readonly taken: readonly protobuf.Type[];
  readonly enumerations: readonly protobuf.Enum[];
  readonly int64: string | undefined;
  readonly runtime: string;
}

class CodecWriter {
  readonly #scalars: Readonly<Record<string, Scalar>>;

  constructor(isExact: boolean) {
    this.#scalars = {
      bool: plain("boolean", "bool", 0),
      int32: plain("number", "int32", 0),
      uint32: plain("number", "uint32", 0),
      int64: whole("int64", isExact),
      uint64: whole("uint64", isExact),
      string: plain("string", "string", 2),
      bytes: plain("Uint8Array", "bytes", 2),
    };
  }

  module({ sent, taken, enumerations, int64, runtime }: Parts): string {
    const encoded = [...reached(sent)];
    const decoded = [...reached(taken)];
    const all = [...new Set([...encoded, ...decoded])];
    const wrappers = new Set(
      decoded.flatMap(({ fieldsArray }) => fieldsArray).filter(({ resolvedType }) => isWrapper(resolvedType)),
    );
    const readers = [
      ...decoded.map((type) => this.#decoder(type)),
      ...new Set([...wrappers].map((field) => this.#wrapperReader(field))),
    ].join("\n");
    const body = `${enumerations.map(constants).join("\n")}
${all.map((type) => this.#declaration(type)).join("\n")}
${sent.map(encodeFunction).join("\n")}
${taken.map(decodeFunction).join("\n")}
${encoded.map((type) => this.#encoder(type)).join("\n")}
${readers}
${readers.includes("readEntry(") ? readEntry : ""}`;
    const uses = (word: string) => body.includes(word);
    return `// Written by \`npm run protos\` from .proto files. Do not change it by hand.
import { Reader, Writer } from "${runtime}";
${int64 === undefined ? "" : `import { bits, type Int64, readInt64 } from "${int64}";`}

${uses("?? none") ? "const none: readonly never[] = [];" : ""}
${uses("noBytes") ? "const noBytes = new Uint8Array(0);" : ""}

${body}`;
  }

  #scalar({ resolvedType, type }: protobuf.Field): Scalar {
    const name = isWrapper(resolvedType)
      ? (resolvedType as protobuf.Type).fields.value!.type
      : resolvedType instanceof protobuf.Enum
        ? "int32"
        : type;
    return this.#scalars[name]!;
  }

  #elementType(field: protobuf.Field): string {
    const message = messageOf(field);
    return message === undefined ? this.#scalar(field).type : nameOf(message);
  }

  #declaration(type: protobuf.Type): string {
    const comment = `/** \`${type.fullName.slice(1)}\` */\n`;
    const fields = type.fieldsArray.map((field) => {
      const element = this.#elementType(field);
      const whole = field.map
        ? `Record<string, ${element}>`
        : field.repeated
          ? `readonly ${element}[]`
          : element;
      return `  ${property(field)}?: ${whole} | undefined;`;
    });
    if (fields.length === 0) return `${comment}export type ${nameOf(type)} = Record<string, never>;\n`;
    return `${comment}export interface ${nameOf(type)} {\n${fields.join("\n")}\n}\n`;
  }

  #encoder(type: protobuf.Type): string {
    const unused = type.fieldsArray.length === 0 ? "_" : "";
    return `function write${nameOf(type)}(${unused}w: Writer, ${unused}m: ${nameOf(type)}): void {
${type.fieldsArray.map((field) => this.#writeField(field)).join("\n")}
}
`;
  }

  /**
   * Messages and fields of a oneof are written whenever they are set. Other fields are written only
   * if they differ from the default.
   */
  #writeField(field: protobuf.Field): string {
    const source = `m.${property(field)}`;
    if (field.map) return writeMap(field, source);
    if (field.repeated) return this.#writeList(field, source);
    const isExplicit = messageOf(field) !== undefined || field.partOf !== null;
    const isSet = isExplicit
      ? `${source} !== undefined`
      : this.#scalar(field).type === "Uint8Array"
        ? `${source} !== undefined && ${source}.length > 0`
        : source;
    return `  if (${isSet}) {\n    ${this.#writeValue(field, source)}\n  }`;
  }

  #writeList(field: protobuf.Field, source: string): string {
    if (messageOf(field) !== undefined || this.#scalar(field).wire === 2)
      return `  for (const each of ${source} ?? none) {\n    ${this.#writeValue(field, "each")}\n  }`;
    return `  if (${source} !== undefined && ${source}.length > 0) {
    w.uint32(${(field.id << 3) | 2}).fork();
    for (const each of ${source}) w.${this.#scalar(field).write("each")};
    w.ldelim();
  }`;
  }

  #writeValue(field: protobuf.Field, value: string): string {
    const tag = (wire: number) => `w.uint32(${(field.id << 3) | wire})`;
    const message = messageOf(field);
    if (message !== undefined)
      return `${tag(2)}.fork();\n    write${nameOf(message)}(w, ${value});\n    w.ldelim();`;
    const { wire, write } = this.#scalar(field);
    return `${tag(wire)}.${write(value)};`;
  }

  #decoder(type: protobuf.Type): string {
    const name = nameOf(type);
    const fields = type.fieldsArray;
    const lists = fields.filter((field) => field.repeated);
    const start = fields.map((field) => `${property(field)}: undefined`).join(", ");
    return `function read${name}(r: Reader, length: number): ${name} {
  const m: ${name} = { ${start} };
${lists.map((field) => `  let ${property(field)}: ${this.#elementType(field)}[] | undefined;`).join("\n")}
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
  ${fields.map((field) => this.#readField(field)).join("\n  ")}
      default:
        r.skipType(tag & 7);
    }
  }
${lists.map((field) => `  m.${property(field)} = ${property(field)};`).join("\n")}
  return m;
}
`;
  }

  #readField(field: protobuf.Field): string {
    const target = `m.${property(field)}`;
    if (field.map)
      return `    case ${field.id}: {
        const [key, value] = readEntry(r, r.uint32(), read${nameOf(messageOf(field)!)});
        ${target} ??= {};
        ${target}[key] = value;
        break;
      }`;
    if (field.repeated) return this.#readList(field);
    return `    case ${field.id}:
        ${target} = ${this.#readValue(field)};
        break;`;
  }

  #readList(field: protobuf.Field): string {
    const list = property(field);
    const one = `${list}.push(${this.#readValue(field)});`;
    const isPackable = messageOf(field) === undefined && this.#scalar(field).wire === 0;
    const packed = `if ((tag & 7) === 2) {
          for (const last = r.uint32() + r.pos; r.pos < last; ) ${one}
        } else ${one}`;
    return `    case ${field.id}:
        ${list} ??= [];
        ${isPackable ? packed : one}
        break;`;
  }

  #readValue(field: protobuf.Field): string {
    const { resolvedType } = field;
    if (resolvedType instanceof protobuf.Type)
      return `read${isWrapper(resolvedType) ? resolvedType.name : nameOf(resolvedType)}(r, r.uint32())`;
    return this.#scalar(field).read;
  }

  /**
   * Generates the reader of a wrapper message. A wrapper contains one scalar, so that an absent
   * scalar differs from one with the default value.
   */
  #wrapperReader(field: protobuf.Field): string {
    const { type, read } = this.#scalar(field);
    return `function read${field.resolvedType!.name}(r: Reader, length: number): ${type} {
  let value: ${type} | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    if (tag >>> 3 === 1) value = ${read};
    else r.skipType(tag & 7);
  }
  return value ?? ${type === "string" ? '""' : "noBytes"};
}
`;
  }
}

function constants(type: protobuf.Enum): string {
  const values = Object.entries(type.values).map(([name, value]) => `  ${name}: ${value},`);
  return `/** \`${type.fullName.slice(1)}\` */\nexport const ${nameOf(type)} = {\n${values.join("\n")}\n} as const;\n`;
}

function encodeFunction(message: protobuf.Type): string {
  const type = nameOf(message);
  return `export function encode${type}(message: ${type}): Buffer {
  const w = Writer.create();
  write${type}(w, message);
  return w.finish() as Buffer;
}
`;
}

function decodeFunction(message: protobuf.Type): string {
  const type = nameOf(message);
  return `export function decode${type}(bytes: Uint8Array): ${type} {
  const r = Reader.create(bytes);
  return read${type}(r, r.len);
}
`;
}

function writeMap(field: protobuf.Field, source: string): string {
  return `  for (const [key, value] of Object.entries(${source} ?? {})) {
    w.uint32(${(field.id << 3) | 2}).fork();
    w.uint32(10).string(key);
    w.uint32(18).fork();
    write${nameOf(messageOf(field)!)}(w, value);
    w.ldelim();
    w.ldelim();
  }`;
}

const readEntry = `function readEntry<T>(
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
