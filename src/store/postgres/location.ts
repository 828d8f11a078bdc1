import { checkText, InvalidArgumentError, withoutPassword } from "../../errors/index.js";

/** Where a database on PostgreSQL is. */
export interface PostgresLocation {
  /** The location as `pg` takes it. May hold a password. */
  readonly connection: string;
  /** Parameters that are options of `postgresStore`. */
  readonly schema: string | undefined;
  readonly prepare: boolean | undefined;
  readonly connections: number | undefined;
  readonly deadlineMs: number | undefined;
}

const shape = 'A location on PostgreSQL is "postgres://USER@HOST:PORT/DATABASE?schema=SCHEMA"';
const numbers = ["connections", "deadlineMs"] as const;

/**
 * Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=SCHEMA`. The parameters `schema`,
 * `prepare`, `connections` and `deadlineMs` are this store's. All others go to `pg`, such as
 * `sslmode` and `host`, which may be the folder of a socket.
 */
export function parseLocation(place: string): PostgresLocation {
  checkText("A location on PostgreSQL, postgres://USER@HOST/DATABASE,", place);
  const refuse = (why: string) =>
    new InvalidArgumentError(`${shape}, but ${why} in "${withoutPassword(place)}".`);
  if (!/^postgres(ql)?:\/\//.test(place)) throw refuse("postgres:// is missing at the beginning");
  const [path = "", query, ...more] = place.split("?");
  // A host may be missing after a user: then it is a parameter, or pg's default.
  if (!URL.canParse(path.replace("@/", "@localhost/"))) {
    throw refuse('it is no URL (write "/", "?", "#" and "@" in a password as %2F, %3F, %23 and %40)');
  }
  if (more.length > 0) throw refuse("there is a second question mark");
  const parameters = new URLSearchParams(query);
  const take = (name: string) => {
    if (parameters.getAll(name).length > 1) throw refuse(`"${name}" is given twice`);
    const value = parameters.get(name) ?? undefined;
    parameters.delete(name);
    return value;
  };
  const schema = take("schema");
  const prepare = take("prepare");
  if (prepare !== undefined && prepare !== "true" && prepare !== "false") {
    throw refuse(`"prepare" must be true or false, not "${prepare}",`);
  }
  const counts = numbers.map((name) => {
    const value = take(name);
    if (value === undefined) return undefined;
    if (!/^[1-9]\d{0,8}$/.test(value))
      throw refuse(`"${name}" must be a whole number of at least 1, not "${value}",`);
    return Number(value);
  });
  const rest = parameters.toString();
  return {
    connection: rest === "" ? path : `${path}?${rest}`,
    schema,
    prepare: prepare === undefined ? undefined : prepare === "true",
    connections: counts[0],
    deadlineMs: counts[1],
  };
}
