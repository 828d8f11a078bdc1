import { InvalidArgumentError } from "../../../errors/index.js";
import { compareBytes, equalBytes } from "../../bytes.js";
import type { AbsentGuard, Guard, PresentGuard } from "../../mutation.js";
import type { RowFilter, ValueRange } from "../protos/codec.js";
import {
  bytesBesideColumn,
  chain,
  checkFilter,
  columnFilter,
  interleave,
  withTimes,
} from "../read/filter.js";

/**
 * The predicate of a conditional mutation that decides whether guards hold. `holds`: whether the
 * guards hold if the predicate finds a cell. If the predicate finds none, the opposite is true.
 * `"always"` and `"never"` need no predicate.
 */
export type Predicate = { readonly filter: RowFilter; readonly holds: boolean } | "always" | "never";

/**
 * Builds one predicate for all guards. A predicate can tell that a cell exists, and with a count,
 * that several cells exist. It cannot tell that cell A exists and cell B does not, unless B would
 * come before A in the order of the row's cells. So present and absent guards can be combined only
 * on one part, and only if the columns of the absent guards come first.
 */
export function predicateOf(guards: readonly Guard[]): Predicate {
  const absent: AbsentGuard[] = [];
  const present: PresentGuard[] = [];
  for (const guard of guards) {
    if (guard.type === "present") present.push(guard);
    else if (Math.ceil(guard.from) < Math.ceil(guard.to)) absent.push(guard);
  }
  if (present.length === 0) return absent.length === 0 ? "always" : noneOf(absent);
  const wanted = mergePresent(present);
  if (wanted === "never" || absent.some((guard) => wanted.some((cell) => contains(guard, cell))))
    return "never";
  return absent.length === 0 ? allOf(wanted) : allButNoneBefore(wanted, absent);
}

function noneOf(absent: readonly AbsentGuard[]): Predicate {
  const filter = chain([interleave(absent.map(absentFilter)), { cellsPerRowLimitFilter: 1 }]);
  return { filter: checked(filter, absent), holds: false };
}

function allOf(present: readonly PresentGuard[]): Predicate {
  return { filter: checked(chain(presentFilters(present)), present), holds: true };
}

/**
 * The predicate for present and absent guards together. Of all cells that the guards name, the
 * row's first ones must be exactly the cells of the present guards.
 */
function allButNoneBefore(present: readonly PresentGuard[], absent: readonly AbsentGuard[]): Predicate {
  for (const guard of absent) {
    for (const cell of present) if (!comesBefore(guard, cell)) throw undecidable(guard, cell);
  }
  const asked = interleave([...absent.map(absentFilter), ...present.map(presentFilter)]);
  const filter = chain([asked, { cellsPerRowLimitFilter: present.length }, ...presentFilters(present)]);
  return { filter: checked(filter, [...absent, ...present, ...present]), holds: true };
}

/** Lets a cell through only if the cells of all present guards exist. */
function presentFilters(present: readonly PresentGuard[]): RowFilter[] {
  const all = interleave(present.map(presentFilter));
  return present.length === 1 ? [all] : [all, { cellsPerRowOffsetFilter: present.length - 1 }];
}

function absentFilter({ part, column, from, to }: AbsentGuard): RowFilter {
  return withTimes([columnFilter(part, column)], from, to);
}

function presentFilter({ part, column, at, equals, below }: PresentGuard): RowFilter {
  const cell = withTimes([columnFilter(part, column)], at, at + 1);
  const range: ValueRange | undefined =
    equals !== undefined
      ? { startValueClosed: equals, endValueClosed: equals }
      : below && { endValueOpen: below };
  return range === undefined ? cell : chain([cell, { valueRangeFilter: range }]);
}

/** Combines the guards of each cell into one. `"never"` if no value can satisfy them. */
function mergePresent(guards: readonly PresentGuard[]): PresentGuard[] | "never" {
  const merged: PresentGuard[] = [];
  for (const guard of guards) {
    const at = merged.findIndex((other) => sameCell(other, guard));
    const both = at < 0 ? guard : conjunction(merged[at]!, guard);
    if (both === "never" || !possible(both)) return "never";
    if (at < 0) merged.push(both);
    else merged[at] = both;
  }
  return merged;
}

function sameCell(a: PresentGuard, b: PresentGuard): boolean {
  return a.part === b.part && a.at === b.at && equalBytes(a.column, b.column);
}

function conjunction(a: PresentGuard, b: PresentGuard): PresentGuard | "never" {
  if (a.equals !== undefined && b.equals !== undefined && !equalBytes(a.equals, b.equals)) return "never";
  const below =
    a.below === undefined || (b.below !== undefined && compareBytes(b.below, a.below) < 0)
      ? b.below
      : a.below;
  return { ...a, equals: a.equals ?? b.equals, below };
}

function possible({ equals, below }: PresentGuard): boolean {
  if (below === undefined) return true;
  return equals === undefined ? below.length > 0 : compareBytes(equals, below) < 0;
}

function contains(guard: AbsentGuard, cell: PresentGuard): boolean {
  const sameColumn = guard.part === cell.part && equalBytes(guard.column, cell.column);
  return sameColumn && guard.from <= cell.at && cell.at < guard.to;
}

/**
 * Whether every version that `guard` covers comes before `cell`. False if they are in different
 * families, because Bigtable promises no order between families.
 */
function comesBefore(guard: AbsentGuard, cell: PresentGuard): boolean {
  if (guard.part !== cell.part) return false;
  const order = compareBytes(guard.column, cell.column);
  return order < 0 || (order === 0 && guard.from > cell.at);
}

function undecidable(guard: AbsentGuard, cell: PresentGuard): InvalidArgumentError {
  const name = (column: Uint8Array) => JSON.stringify(Buffer.from(column).toString());
  return new InvalidArgumentError(
    `Bigtable cannot check in one step that column ${name(cell.column)} has a ${cell.part} and column ${name(guard.column)} has no ` +
      `${guard.part}. Put the \`absent\` guard on an earlier column of the same part, or in a mutation of its own.`,
  );
}

function checked(filter: RowFilter, guards: readonly Guard[]): RowFilter {
  let bytes = 64;
  for (const guard of guards) {
    bytes += bytesBesideColumn + 2 * guard.column.length;
    if (guard.type === "present") bytes += 2 * (guard.equals?.length ?? 0) + (guard.below?.length ?? 0);
  }
  return checkFilter(filter, bytes, `${guards.length} guards of one mutation`);
}
