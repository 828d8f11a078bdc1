import { createHash } from "node:crypto";

/** Bigtable's limit. */
const maxTableIdBytes = 50;
const hashLength = 24;

/**
 * The id of a table. Letters, digits and `-` stand for themselves, every other byte becomes `.` and
 * two hexadecimal digits, and a first one comes after `_`. A longer id ends in its hash. No two
 * names have the same id, whatever their prefixes.
 */
export function tableId(prefix: string | undefined, name: string): string {
  let text = "";
  for (const byte of Buffer.from(name)) {
    const character = String.fromCharCode(byte);
    const plain = text === "" ? /[a-zA-Z0-9]/ : /[a-zA-Z0-9_-]/;
    if (plain.test(character)) text += character;
    else text += `${text === "" ? "_" : ""}.${byte.toString(16).padStart(2, "0")}`;
  }
  const id = prefix === undefined ? text : `${prefix}..${text}`;
  if (id.length <= maxTableIdBytes) return id;
  const hash = createHash("sha256").update(id).digest("hex").slice(0, hashLength);
  return `${id.slice(0, maxTableIdBytes - hashLength - 3)}...${hash}`;
}

const nul = Buffer.alloc(1);

/**
 * The row key in Bigtable, which has no empty one. A key that is empty or begins with NUL gets a
 * NUL in front. Rows keep their order.
 */
export function encodeRow(row: Uint8Array): Uint8Array {
  return row.length > 0 && row[0] !== 0 ? row : Buffer.concat([nul, row]);
}

/** Reverses {@link encodeRow}. */
export function decodeRow(key: Uint8Array): Uint8Array {
  return key[0] === 0 ? key.subarray(1) : key;
}
