import { ConflictError, LoadError } from "../../errors/index.js";
import { compareBytes } from "../../store/index.js";
import { showRow } from "../cell/address.js";
import type {
  LoadBarrier,
  LoadBarrierRequest,
  ObservedColumns,
  RowRange,
  Schemas,
  TransactionContext,
} from "../context.js";

/** A bulk load, as commits see it. */
export interface LoadToKeepOut {
  readonly name: string;
  readonly ranges: readonly RowRange[];
  /** When it was published. Undefined while it is in progress. */
  readonly publishedAt: number | undefined;
}

/** Why a commit is not allowed under this view of the registry. Undefined if it is. */
export function keptOut(request: LoadBarrierRequest, { loads, dropped }: ObservedColumns): Error | undefined {
  const refused = dropped?.refusal(request);
  if (refused !== undefined) return refused;
  if (loads === undefined || request.start >= loads.until) return undefined;
  return loads.refusal(request);
}

/**
 * Throws if a commit is not allowed by the current registry. `view` may be an old copy that does not
 * know yet that a load was published. This function therefore reads the registry before it refuses,
 * and before it allows a serializable transaction while a load is in progress.
 */
export async function checkLoads(
  { notifications }: Pick<TransactionContext, "notifications">,
  request: LoadBarrierRequest,
  view: ObservedColumns,
): Promise<void> {
  const isSure = request.reads === undefined || view.loads?.until !== Number.POSITIVE_INFINITY;
  if (isSure && keptOut(request, view) === undefined) return;
  const refused = keptOut(request, await notifications.reload());
  if (refused !== undefined) throw refused;
}

/**
 * Keeps transactions out of the ranges of bulk loads (protocol §5.13).
 *
 * - While a load is in progress, no transaction may write in its ranges.
 * - A transaction that started before the publication did not see the loaded rows. It conflicts if
 *   it writes in the ranges, or if it is serializable and has read there.
 */
export class LoadedRanges implements LoadBarrier {
  readonly until: number;
  readonly #loads: readonly LoadToKeepOut[];
  readonly #schemas: Pick<Schemas, "showRow">;

  constructor(
    loads: readonly LoadToKeepOut[],
    schemas: Pick<Schemas, "showRow"> = { showRow: (_, row) => showRow(row) },
  ) {
    this.#loads = loads;
    this.#schemas = schemas;
    this.until = Math.max(0, ...loads.map(({ publishedAt }) => publishedAt ?? Number.POSITIVE_INFINITY));
  }

  refusal(request: LoadBarrierRequest): Error | undefined {
    for (const load of this.#loads) {
      const refused = this.#refusalBy(load, request);
      if (refused !== undefined) return refused;
    }
    return undefined;
  }

  #refusalBy(load: LoadToKeepOut, request: LoadBarrierRequest): Error | undefined {
    const { name, ranges, publishedAt } = load;
    if (publishedAt !== undefined && request.start >= publishedAt) return undefined;
    const isInside = ({ table, row }: { readonly table: string; readonly row: Uint8Array }) =>
      ranges.some((range) => contains(range, table, row));
    const written = request.writes.find(isInside) ?? request.signals.find(isInside);
    if (written !== undefined) {
      const place = `row ${JSON.stringify(this.#schemas.showRow(written.table, written.row))} of "${written.table}"`;
      return publishedAt === undefined
        ? new LoadError(
            `The bulk load "${name}" is in progress, and ${place} is in its range. Nothing was written. Run the ` +
              "transaction again when the load has ended (`db.loads()` shows its state).",
          )
        : conflictWith(name, request.start, `writes ${place}`);
    }
    // A load in progress is published later, after the commit. Its rows are then no phantoms.
    if (publishedAt === undefined || request.reads === undefined) return undefined;
    const hasRead =
      request.reads.rows().some(isInside) ||
      request.reads.ranges.some((read) => ranges.some((range) => overlap(range, read)));
    return hasRead ? conflictWith(name, request.start, "has read in its range") : undefined;
  }
}

function conflictWith(name: string, startTimestamp: number, what: string): ConflictError {
  return new ConflictError(
    `The bulk load "${name}" was published after the transaction had started at ${startTimestamp}, and the transaction ${what}. ` +
      "Nothing was written. Run it again from the start.",
    { startTimestamp },
  );
}

/** Whether a range has a row. */
export function contains({ table, start, end }: RowRange, inTable: string, row: Uint8Array): boolean {
  if (table !== inTable) return false;
  if (start !== undefined && compareBytes(row, start) < 0) return false;
  return end === undefined || compareBytes(row, end) < 0;
}

/** Whether two ranges have a row in common. */
export function overlap(one: RowRange, other: RowRange): boolean {
  if (one.table !== other.table) return false;
  return isBelow(one.start, other.end) && isBelow(other.start, one.end);
}

function isBelow(start: Uint8Array | undefined, end: Uint8Array | undefined): boolean {
  return start === undefined || end === undefined || compareBytes(start, end) < 0;
}
