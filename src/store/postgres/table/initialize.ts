import { StoreError, StoreVersionError } from "../../../errors/index.js";
import { type Connections, statement } from "../wire/connections.js";
import { definition, newerState, schemaVersion, stateComment } from "./definition.js";

/** The oldest server that this store runs on: 14. It is that of the functions' statements. */
const minServerVersion = 140_000;

interface Found {
  readonly hasSchema: boolean;
  /** Undefined if the schema has no database. */
  readonly version: number | undefined;
  /** Whether the functions contain another name of the schema, because it was renamed. */
  readonly isRenamed: boolean;
}

/**
 * Checks the server's version and the schema's. Makes the tables and functions if they are missing
 * or older, and `create` is true. Several processes may do this at the same time.
 */
export async function initialize(
  connections: Connections,
  schema: string,
  { create }: { readonly create: boolean },
): Promise<void> {
  const { place } = connections;
  const asked = await connections.repeat(statement("show server_version_num"), [], "ask for its version");
  const server = Number(asked[0]![0]);
  if (server < minServerVersion) {
    throw new StoreError(
      `The server of ${place} is PostgreSQL ${Math.floor(server / 10_000)}, but this store needs version 14 or later. ` +
        "Upgrade the server.",
    );
  }
  let found = await look(connections, schema);
  if (found.version === undefined && !create) {
    throw new StoreError(
      `There is no database at ${place}. Make it with \`percolator init\`, or open it with \`create: true\`.`,
    );
  }
  if (found.isRenamed) await checkRenamed(connections, schema);
  if (found.version === undefined || found.version < schemaVersion || found.isRenamed) {
    await makeTables(connections, schema, found, create);
    found = await look(connections, schema);
  }
  if (found.version !== schemaVersion) {
    throw new StoreVersionError(
      `The database at ${place} has version ${found.version} of its tables, but this package knows only version ` +
        `${schemaVersion}. Upgrade the package.`,
    );
  }
}

/**
 * Throws if the functions of a renamed schema must not be made again. The triggers of attached tables belong to
 * the writers' transactions, and fail since the schema was renamed: renaming it back helps at once.
 */
async function checkRenamed(connections: Connections, schema: string): Promise<void> {
  const outbox = await connections.repeat(
    statement("select to_regclass($1) is not null"),
    [`${schema}.outbox`],
    "look for attached tables",
  );
  if (outbox[0]![0] === "t") {
    throw renamedSchema(
      connections,
      "Writers of its attached tables fail, so rename it back with `alter schema ... rename to ...`.",
    );
  }
}

const renamedSchema = ({ place }: Connections, advice: string, cause?: unknown) =>
  new StoreError(
    `The schema of the database at ${place} was renamed, and its functions contain the old name. ${advice}`,
    { cause },
  );

/** Makes the tables and functions, or upgrades those of an older version. */
async function makeTables(
  connections: Connections,
  schema: string,
  { hasSchema, version, isRenamed }: Found,
  mayWrite: boolean,
): Promise<void> {
  const older = (cause?: unknown) => {
    if (isRenamed) {
      const advice = "Correct them with `percolator init`, as the user who owns them, or rename it back.";
      return renamedSchema(connections, advice, cause);
    }
    return new StoreVersionError(
      `The database at ${connections.place} has version ${version} of its tables, but this package needs version ` +
        `${schemaVersion}. Upgrade them with \`percolator init\`, as the user who owns them.`,
      { cause },
    );
  };
  if (!mayWrite) throw older();
  try {
    await connections.script(definition(schema, !hasSchema), "make the tables");
  } catch (error) {
    // The caller looks again, and finds the newer version.
    if (stateOf(error) === newerState) return;
    throw version === undefined || stateOf(error) !== denied ? error : older(error);
  }
}

/** The SQLSTATE of a lacking privilege. */
const denied = "42501";

/** The SQLSTATE with which the server refused. */
function stateOf(error: unknown): unknown {
  const { cause } = error as { readonly cause?: { readonly code?: unknown } };
  return cause?.code;
}

/** Whether the schema has a database, and whether its tables are older than this package's. */
export async function databaseState(
  connections: Connections,
  schema: string,
): Promise<"there" | "missing" | "older"> {
  const { version, isRenamed } = await look(connections, schema);
  if (version === undefined) return "missing";
  return version < schemaVersion || isRenamed ? "older" : "there";
}

async function look(connections: Connections, schema: string): Promise<Found> {
  const doing = "look for the database";
  const asked = await connections.repeat(
    statement(
      "select to_regnamespace($1) is not null, to_regclass($2) is not null, obj_description(to_regclass($2), 'pg_class')",
    ),
    [schema, `${schema}.state`],
    doing,
  );
  const [hasSchema, hasState, comment] = asked[0]!;
  if (hasState !== "t") return { hasSchema: hasSchema === "t", version: undefined, isRenamed: false };
  const rows = await connections.repeat(statement(`select version from ${schema}.state`), [], doing);
  // A dump without comments has none.
  const isRenamed = comment !== null && comment !== stateComment(schema);
  return { hasSchema: true, version: rows[0] === undefined ? undefined : Number(rows[0][0]), isRenamed };
}
