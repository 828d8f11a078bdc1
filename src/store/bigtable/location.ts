import { checkText, InvalidArgumentError, withoutPassword } from "../../errors/index.js";

/** Where a database is on Cloud Bigtable. */
export interface BigtableLocation {
  readonly project: string;
  readonly instance: string;
  /**
   * Prefix of the names of this database's tables, so that an instance can hold several databases.
   */
  readonly prefix: string | undefined;
  /** The app profile of all requests. */
  readonly profile: string;
  /**
   * Parameters of the location that are also options of `openBigtableStore`. An option takes
   * precedence over the parameter of the same name.
   */
  readonly client: ClientParameters;
}

/** Parameters of a location that say how to reach the database, and do not identify it. */
export interface ClientParameters {
  readonly endpoint?: string;
  readonly adminEndpoint?: string;
  readonly universeDomain?: string;
  readonly connections?: number;
  readonly maxInFlight?: number;
  readonly deadlineMs?: number;
  readonly retryForMs?: number;
}

const scheme = "bigtable://";
const shape = 'A location on Bigtable is "bigtable://PROJECT/INSTANCE?prefix=PREFIX&profile=APP_PROFILE"';
const identifier = /^[a-z0-9][a-z0-9.:_-]*$/i;

const texts = ["endpoint", "adminEndpoint", "universeDomain"] as const;
const numbers = ["connections", "maxInFlight", "deadlineMs", "retryForMs"] as const;
const names: ReadonlySet<string> = new Set(["prefix", "profile", ...texts, ...numbers]);

/** Reads `bigtable://PROJECT/INSTANCE?prefix=P&profile=APP_PROFILE`, and the {@link ClientParameters}. */
export function parseLocation(place: string): BigtableLocation {
  checkText(`A location on Bigtable, ${scheme}PROJECT/INSTANCE,`, place);
  const refuse = (why: string) =>
    new InvalidArgumentError(`${shape}, but in "${withoutPassword(place)}" ${why}.`);
  if (!place.startsWith(scheme)) throw refuse(`${scheme} is missing at the beginning`);
  const [path = "", query, ...more] = place.slice(scheme.length).split("?");
  const [project = "", instance = "", ...rest] = path.split("/");
  if (more.length > 0 || rest.some((part) => part !== "")) throw refuse("more text follows the instance");
  if (!identifier.test(project)) throw refuse("the project's name is missing or not valid");
  if (!identifier.test(instance)) throw refuse("the instance's name is missing or not valid");
  const options = new URLSearchParams(query);
  for (const name of options.keys()) {
    if (!names.has(name))
      throw refuse(`"${name}" is not an option. The options are ${[...names].join(", ")}`);
    if (options.getAll(name).length > 1) throw refuse(`"${name}" is given twice`);
  }
  const prefix = options.get("prefix") ?? undefined;
  if (prefix !== undefined && !/^[a-z0-9][a-z0-9_-]{0,19}$/i.test(prefix)) {
    throw refuse("the prefix must be 1 to 20 letters, digits, _ or -");
  }
  const profile = options.get("profile") ?? "default";
  if (!/^[a-z0-9_-]{1,50}$/i.test(profile))
    throw refuse("the app profile must be 1 to 50 letters, digits, _ or -");
  const client: Record<string, string | number> = {};
  for (const name of texts) {
    const value = options.get(name);
    if (value !== null) client[name] = value;
  }
  for (const name of numbers) {
    const value = options.get(name);
    if (value === null) continue;
    if (!/^[1-9]\d{0,8}$/.test(value))
      throw refuse(`"${name}" must be a whole number of at least 1, not "${value}"`);
    client[name] = Number(value);
  }
  return { project, instance, prefix, profile, client };
}

/** The location as text, with only the parameters that identify the database. */
export function showLocation({ project, instance, prefix, profile }: BigtableLocation): string {
  const options = new URLSearchParams();
  if (prefix !== undefined) options.set("prefix", prefix);
  if (profile !== "default") options.set("profile", profile);
  return `${scheme}${project}/${instance}${options.size === 0 ? "" : `?${options}`}`;
}
