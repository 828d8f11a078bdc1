import type { PercolatorError } from "../../../errors/index.js";
import { SchemaError } from "../../../errors/index.js";
import { type Setting, statement } from "../../../store/postgres/index.js";
import {
  type Attachment,
  driftOf,
  isRenumbered,
  isRewritten,
  isSameDeclaration,
  readAttachments,
} from "../table/attachment.js";
import type { AttachedSource } from "../table/source.js";
import type { Followed } from "./changed-table.js";
import { park } from "./park.js";

/** The attached tables, and which of them this program moves. */
export interface Following {
  readonly attachments: readonly Attachment[];
  readonly followed: ReadonlyMap<string, Followed>;
  /** The declared tables that this program does not move, and why. */
  readonly problems: readonly PercolatorError[];
}

/**
 * Decides which of the declared tables can be moved. Parks an attached table that a migration has
 * changed, and compares all rows of one that it has rewritten.
 */
export async function follow(setting: Setting, sources: readonly AttachedSource[]): Promise<Following> {
  const attachments = await readAttachments(setting);
  const followed = new Map<string, Followed>();
  const problems: PercolatorError[] = [];
  for (const source of sources) {
    const attachment = attachments.find(({ sql }) => sql === source.sql);
    const { recorded } = attachment ?? {};
    if (attachment === undefined || recorded === undefined) {
      problems.push(
        new SchemaError(`${source.sql} is not attached to this database yet. Call \`attachTables\` once.`),
      );
      continue;
    }
    const drift = attachment.parked === undefined ? driftOf(attachment) : undefined;
    if (drift !== undefined) {
      await park(setting, attachment, drift);
      // With the time since when it is parked, as each later look says it.
      return follow(setting, sources);
    }
    if (attachment.parked === undefined && (isRewritten(attachment) || isRenumbered(attachment))) {
      await renewRecord(setting, attachment);
      return follow(setting, sources);
    }
    if (attachment.parked !== undefined) problems.push(parkedError(source.sql, attachment.parked));
    else if (!isSameDeclaration(source, attachment)) problems.push(otherDeclaration(source));
    else {
      const { id, generation, since } = attachment;
      followed.set(id, { ...recorded, id, generation, since, source });
    }
  }
  return { attachments, followed, problems };
}

/**
 * Brings the record up to date. If an `ALTER TABLE` has rewritten the rows, begins a comparison of all. It had
 * kept writers out, so the outbox shows all changes from before it now.
 */
async function renewRecord({ connections, schema }: Setting, attachment: Attachment): Promise<void> {
  const { id, generation, recorded, storage, keyConstraint } = attachment;
  const columns = Object.fromEntries(
    Object.keys(recorded!.storage!.columns).map((name) => [name, storage!.columns[name]]),
  );
  const update = statement(
    `update ${schema}.attachments set generation = generation + $4::integer, definition = ($3::jsonb || jsonb_build_object(
       'rewrittenAt', (select coalesce(max(seq), 0)::text from ${schema}.outbox)))::text
     where id = $1::integer and generation = $2::bigint and error is null`,
  );
  const now = JSON.stringify({ ...recorded, keyConstraint, storage: { ...storage, columns } });
  await connections.repeat(
    update,
    [id, generation, now, isRewritten(attachment) ? 1 : 0],
    "renew the record of a table",
  );
}

/** What `drain` rejects with if a table is parked. */
function parkedError(
  sql: string,
  { at, error }: { readonly at?: string | undefined; readonly error: string },
): SchemaError {
  const since = at === undefined ? "" : ` since ${at}`;
  return new SchemaError(
    `${sql} is parked${since}, and its changes are not moved: ${error} ` +
      "Correct the SQL table or its declaration, and attach it again: `attachTables`, or `percolator attach`.",
  );
}

function otherDeclaration({ sql }: AttachedSource): SchemaError {
  return new SchemaError(
    `This program declares other columns of ${sql}, or another key or name, than those that are attached. ` +
      "Call `attachTables` with its declaration, or run the program with which the table was attached.",
  );
}
