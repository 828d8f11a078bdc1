import type { Connections, Held } from "../wire/connections.js";

/** What lies between this process and the server. */
export interface SessionFacts {
  /**
   * Whether two connections have shared one session of the server, as behind a PgBouncer in
   * transaction mode. If nothing else uses the pool, this is certain; else it may stay unseen.
   */
  readonly isShared: boolean;
  /** Whether a prepared statement works in a session that has not prepared it. True if none is shared. */
  readonly keepsStatements: boolean;
  /** Whether a connection that listens hears a notification. */
  readonly hears: boolean;
}

/** How long a notification may take, in milliseconds. */
const hearingMs = 500;

/**
 * Finds out whether connections have a session of the server each. While one connection is in a
 * transaction, a pooler in transaction mode must give the other one another session.
 */
export async function examineSessions(connections: Connections): Promise<SessionFacts> {
  const one = await connections.hold();
  try {
    const other = await connections.hold();
    try {
      return {
        ...(await compare(one, other, connections.environment.uniqueId())),
        hears: await hears(connections, one, other),
      };
    } finally {
      other.end();
    }
  } finally {
    one.end();
  }
}

/** `id` names the prepared statement: a pooler's session may still have that of an earlier examination. */
async function compare(one: Held, other: Held, id: string): Promise<Omit<SessionFacts, "hears">> {
  const sessionOf = async (held: Held) => (await held.run("select pg_backend_pid()"))[0]![0]!;
  const text = "select 1";
  const name = `percolatordb_doctor_${id}`;
  await one.run(text, name);
  const first = await sessionOf(one);
  await other.run("begin");
  try {
    const isShared = (await sessionOf(other)) === first || (await sessionOf(one)) !== first;
    const keepsStatements =
      !isShared ||
      (await one.run(text, name).then(
        () => true,
        () => false,
      ));
    return { isShared, keepsStatements };
  } finally {
    await other.run("rollback");
  }
}

async function hears({ environment }: Connections, one: Held, other: Held): Promise<boolean> {
  const channel = `percolatordb doctor ${environment.uniqueId()}`;
  const heard = new Promise<boolean>((resolve) => {
    one.onNotification(() => resolve(true));
    environment.setTimer(() => resolve(false), hearingMs);
  });
  try {
    await one.run(`listen "${channel}"`);
    await other.run(`select pg_notify('${channel}', '')`);
    return await heard;
  } catch {
    // A standby refuses to listen.
    return false;
  }
}
