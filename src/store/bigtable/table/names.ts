import { createHash } from "node:crypto";

/** Bigtable's limit. */
const maxTableIdBytes = 50;
const hashLength = 24;

/**
 * The id of a table. Letters and digits are unchanged, and so are `-` and `_`, except at the
 * beginning. Every other byte becomes `.` and two hexadecimal digits, with `_` in front if it is
 * the first byte. An id that is too long is cut, and ends in the hash of the whole id. No two names
 * have the same id, whatever their prefixes.
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
 * A row's key in Bigtable, which allows no empty key. A key that is empty or begins with NUL gets a
 * NUL in front. The order of the rows stays the same.
 */
export function encodeRow(row: Uint8Array): Uint8Array {
  return row.length > 0 && row[0] !== 0 ? row : Buffer.concat([nul, row]);
}

/** Reverses {@link encodeRow}. */
export function decodeRow(key: Uint8Array): Uint8Array {
  return key[0] === 0 ? key.subarray(1) : key;
}
