import {
  messageOf,
  PercolatorError,
  StoreDamagedError,
  StoreError,
  StoreFullError,
} from "../../../errors/index.js";

/** A query that failed. */
export class QueryFailure extends Error {
  /** The SQLSTATE that the server sent. Undefined if the server sent no error. */
  readonly state: string | undefined;
  /**
   * Whether the server may have committed the query. False if it was never sent, or if the server
   * refused it.
   */
  readonly mayHaveRun: boolean;

  constructor(cause: unknown, isSent: boolean) {
    super(messageOf(cause), { cause });
    const { code, severity } = cause as { readonly code?: unknown; readonly severity?: unknown };
    this.state =
      typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && severity !== undefined ? code : undefined;
    // An ERROR ends the transaction. A connection that ends with FATAL may end after the commit.
    this.mayHaveRun = isSent && (this.state === undefined || !isError(severity));
  }
}

/**
 * How the server writes ERROR in the languages of `lc_messages`. The SQLSTATE does not tell it from PANIC: a full
 * disk can be both. A word that is not here counts as the worse one.
 */
const errors: ReadonlySet<unknown> = new Set(
  "ERROR BŁĄD CHYBA ERREUR ERRO ERRORE FEHLER FEL HATA ОШИБКА ПОМИЛКА შეცდომა 오류 错误 錯誤".split(" "),
);

const isError = (severity: unknown) => errors.has(severity);

/** The query had no answer in time. */
export class NoAnswer extends Error {}

/**
 * Which of two consecutive failures to report. If the time is over during an attempt, the failure of
 * the one before says more.
 */
export function tellingFailure(before: unknown, failure: unknown): unknown {
  const isTooLate = failure instanceof QueryFailure && failure.cause instanceof NoAnswer;
  return before !== undefined && isTooLate ? before : failure;
}

/** The server, or its session, is read-only. */
const readOnly = "25006";
/** The session does not know a prepared statement: somebody has discarded those of the connection. */
const unprepared = "26000";

/** Whether the pool must close a connection after this error. */
export function endsConnection(error: unknown): boolean {
  const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown };
  // A failover may have left the connection at a server that is no longer the primary. `pg` would not prepare a
  // statement again on this connection.
  return !isError(severity) || code === readOnly || code === unprepared;
}

/**
 * States that may pass: the server stops, starts, recovers, or has no connection left. A failover
 * has left a connection at a read-only server. A new connection prepares its statements again. Two
 * transactions waited for each other.
 */
const passing: ReadonlySet<string> = new Set([
  "57P01",
  "57P02",
  "57P03",
  "57P05",
  "53300",
  readOnly,
  unprepared,
  "40001",
  "40P01",
]);
/** The role's `lock_timeout` or `statement_timeout` has ended the statement, which a new transaction may survive. */
const timeouts: ReadonlySet<string> = new Set(["55P03", "57014"]);
/** Failures of the connection that a further attempt does not mend. */
const lasting: ReadonlySet<string> = new Set(["ENOTFOUND", "EACCES"]);
/** OpenSSL's and Node's codes of a certificate that is refused. */
const ofCertificate = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_TLS_CERT_)/;

/** Whether another attempt may succeed. */
export function mayPass({ state, cause }: QueryFailure): boolean {
  if (state !== undefined) return passing.has(state) || state.startsWith("08");
  return !lasting.has(codeOf(cause)) && !isOfTls(cause);
}

const codeOf = (cause: unknown) => String((cause as { readonly code?: unknown } | undefined)?.code);

/** Whether TLS was refused. `pg` gives no code if the server does not offer it. */
function isOfTls(cause: unknown): boolean {
  return (
    ofCertificate.test(codeOf(cause)) ||
    /does not support SSL/.test(String((cause as Error | undefined)?.message))
  );
}

/** Whether the same statement may succeed in a new transaction, perhaps only after a while. */
export function maySucceedLater(failure: QueryFailure): boolean {
  return mayPass(failure) || timeouts.has(String(failure.state));
}

const grants = "docs/postgres.md lists the privileges that it needs";
const preparing =
  "Prepared statements do not reach this connection. Behind PgBouncer in transaction mode, set `prepare=false` in the location";
/** What to do, by state or by the state's class. */
const advice: Readonly<Record<string, string>> = {
  "08": "Check the network and the server's log",
  [unprepared]: preparing,
  "42P05": preparing,
  "28": "Check the user, the password and pg_hba.conf",
  "3D000": "Create the database, or correct the location",
  "3F000": "Create the schema with `percolator init`",
  "42P01": "Create the tables with `percolator init`, as a user who may create them",
  "42883":
    "If another version of the package has upgraded the database, restart this process with that version. Otherwise create the " +
    "functions with `percolator init`, as a user who may create them",
  "42501": `Grant the role what is missing; ${grants}`,
  "25001": "Set `default_transaction_isolation` of this role to read committed",
  "25006":
    "The server is read-only: a standby, or `default_transaction_read_only` is on. Connect to the primary",
  "55P03":
    "Another transaction held a lock for longer than `lock_timeout`. Try again, or raise `lock_timeout` for this role",
  "57014":
    "The server cancelled the statement: raise `statement_timeout` for this role, or send smaller transactions",
  "57P01": "The server is stopping, or somebody has ended the connection. Try again",
  "57P02": "The server has crashed. Try again when it has recovered",
  "57P03": "The server is starting or recovering. Try again",
  "53300": "Raise `max_connections` of the server, or lower `connections` of this store",
};

/** The error of a request that failed: what happened, in which schema, and what to do. */
export function storeError(failure: unknown, doing: string, place: string): Error {
  if (failure instanceof PercolatorError) return failure;
  if (!(failure instanceof QueryFailure)) {
    return new StoreError(`Could not ${doing} (${place}).`, { cause: failure });
  }
  const { state, cause } = failure;
  const said = failure.message.replace(/\.$/, "");
  const message = (hint: string) =>
    `PostgreSQL could not ${doing} (${place}): ${said}${state === undefined ? "" : ` [${state}]`}. ${hint}.`;
  if (state === "53100") {
    return new StoreFullError(message("The server's disk is full: free space there"), { cause });
  }
  if (state === "XX001" || state === "XX002") {
    return new StoreDamagedError(message("The server found damaged pages or indexes: see its log"), {
      cause,
    });
  }
  const hint =
    state === undefined && isOfTls(cause)
      ? "Check the server's certificate, and `sslmode` and `sslrootcert` in the location"
      : state === undefined
        ? "The server cannot be reached, or did not answer in time: check the location, the network and the server"
        : (advice[state] ?? advice[state.slice(0, 2)] ?? "See the server's log");
  return new StoreError(message(hint), { cause, retryable: maySucceedLater(failure) });
}
