import { isCompressedTag } from "../../schema/index.js";

/** A column of a view, or of its index. */
export interface ViewColumn {
  readonly name: string;
  /** The type in PostgreSQL. */
  readonly type: string;
  /** The SQL of the value, from the SQL of the stored bytes. `s` is the database's schema. */
  readonly decode: (s: string, bytes: string) => string;
}

type Decoding = Omit<ViewColumn, "name">;

const by = (type: string, name: string): Decoding => ({
  type,
  decode: (s, bytes) => `${s}.${name}(${bytes})`,
});
const stored: Decoding = { type: "bytea", decode: (_, bytes) => bytes };

const decodings: ReadonlyMap<string, Decoding> = new Map([
  ["text", by("text", "view_text")],
  ["oneOf", by("text", "view_text")],
  ["int", by("bigint", "view_int")],
  ["float", by("double precision", "view_float")],
  ["boolean", { type: "boolean", decode: (_, bytes) => `(get_byte(${bytes}, 0) = 1)` }],
  ["date", by("timestamp with time zone", "view_date")],
  ["bigint", by("numeric", "view_bigint")],
  ["json", by("jsonb", "view_json")],
]);

/**
 * How a view shows the values of a codec. PostgreSQL cannot decompress, so a compressed column shows
 * its stored bytes, under a name that says so.
 */
export function valueColumn(name: string, tag: string): ViewColumn {
  if (isCompressedTag(tag)) return { ...stored, name: `${name}_compressed` };
  return { ...(decodings.get(tag) ?? stored), name };
}

/** The letter of a part in the functions' `before`, and its type. */
const parts: ReadonlyMap<string, readonly [letter: string, type: string]> = new Map([
  ["text", ["t", "text"]],
  ["bytes", ["b", "bytea"]],
  ["int", ["i", "bigint"]],
  ["float", ["f", "double precision"]],
  ["boolean", ["o", "boolean"]],
]);

/** The tags of a key's parts. */
export function partTags(keyTag: string): readonly string[] {
  return /^tuple\((.+)\)$/.exec(keyTag)?.[1]?.split(",") ?? [keyTag];
}

/** The columns of a key. Text sorts by its bytes, as in this library. */
export function keyColumns(keyTag: string, names: readonly string[]): readonly ViewColumn[] {
  const collate = 'collate "C"';
  if (keyTag === "text") {
    return [{ name: names[0]!, type: "text", decode: (s, row) => `(${s}.view_key(${row}) ${collate})` }];
  }
  const tags = partTags(keyTag);
  return tags.map((tag, i) => {
    const before = tags
      .slice(0, i)
      .map((each) => parts.get(each)![0])
      .join("");
    const decode = (s: string, row: string) => {
      const at = i === 0 ? "1" : `${s}.view_key_at(${row}, '${before}')`;
      const part = `${s}.view_key_${tag}(${row}, ${at})`;
      return `(${part}${tag === "text" ? ` ${collate}` : ""})`;
    };
    return { name: names[i]!, type: parts.get(tag)![1], decode };
  });
}
