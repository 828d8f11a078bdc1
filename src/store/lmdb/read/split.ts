import { closeSync, fstatSync, openSync } from "node:fs";
import { arch, endianness } from "node:os";
import { join } from "node:path";
import { dataFileName } from "../file/folder.js";
import { DataFile, type Tree } from "../file/pages.js";
import { tablePrefix } from "../record/key.js";

/**
 * Maximum number of pages that are read. More pages would hardly make the parts between the points
 * more equal.
 */
const maxPages = 512;

/**
 * Rows that divide a table into about equal parts. The rows come from the upper pages of the
 * table's tree, because pages of one level hold about the same amount. Call this function after a
 * read in the same turn of the event loop, because that read keeps the snapshot's pages in place.
 */
export function splitPoints(path: string, table: string, most: number): Uint8Array[] {
  if (most < 1 || endianness() !== "LE" || arch() === "arm" || arch() === "ia32") return [];
  const file = openSync(join(path, dataFileName), "r");
  try {
    const data = new DataFile(file, fstatSync(file).size);
    const tree = data.trees(data.newest()).get("cells");
    return tree === undefined ? [] : evenly(boundaries(data, tree, table, most), most);
  } finally {
    closeSync(file);
  }
}

/** Rows at which pages begin, from the highest level that has enough of them. */
function boundaries(data: DataFile, tree: Tree, table: string, most: number): Uint8Array[] {
  const prefix = tablePrefix(table);
  let level = tree.root === undefined ? [] : [tree.root];
  let rows: Uint8Array[] = [];
  for (let pages = 0; level.length > 0; ) {
    const below: number[] = [];
    rows = [];
    for (const number of level) {
      if (++pages > maxPages) return rows;
      const page = data.page(number);
      if (!page.branch) return rows;
      addChildren(page.nodes, prefix, below, rows);
    }
    if (rows.length >= 4 * most) return rows;
    level = below;
  }
  return rows;
}

/**
 * Collects the children that may hold cells of the table, and the rows at which all but the first
 * begin.
 */
function addChildren(
  nodes: readonly { readonly key: Buffer; readonly child: number }[],
  prefix: Uint8Array,
  below: number[],
  rows: Uint8Array[],
): void {
  for (let i = 0; i < nodes.length; i++) {
    const { key, child } = nodes[i]!;
    const next = nodes[i + 1]?.key;
    // The first node of a branch covers every key below the second node, whatever its own key is.
    const order = i === 0 ? -1 : comparePrefix(key, prefix);
    if (order > 0) return;
    if (next !== undefined && comparePrefix(next, prefix) < 0) continue;
    below.push(child);
    if (order !== 0) continue;
    const row = rowOf(key, prefix.length);
    if (row !== undefined && (rows.length === 0 || Buffer.compare(rows.at(-1)!, row) < 0)) rows.push(row);
  }
}

/** 0 if `key` begins with the prefix. */
function comparePrefix(key: Buffer, prefix: Uint8Array): number {
  return Buffer.compare(key.subarray(0, prefix.length), prefix);
}

/** The row in a cell's key. LMDB may have truncated the key in an upper page. */
function rowOf(key: Buffer, from: number): Uint8Array | undefined {
  const row: number[] = [];
  for (let i = from; i < key.length; i++) {
    const byte = key[i]!;
    if (byte === 0 && key[++i] !== 0xff) break;
    row.push(byte);
  }
  return row.length === 0 ? undefined : Uint8Array.from(row);
}

function evenly(rows: readonly Uint8Array[], most: number): Uint8Array[] {
  if (rows.length <= most) return [...rows];
  return Array.from({ length: most }, (_, i) => rows[Math.floor(((i + 1) * rows.length) / (most + 1))]!);
}
