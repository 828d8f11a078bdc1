import { InvalidArgumentError } from "../../errors/index.js";

/** Where a database is on Cloud Bigtable. */
export interface BigtableLocation {
  readonly project: string;
  readonly instance: string;
  /** Begins the names of this database's tables, so that an instance can hold several. */
  readonly prefix: string | undefined;
  /** Names the app profile that all requests go by. */
  readonly profile: string;
}

const scheme = "bigtable://";
const shape = 'A location on Bigtable is "bigtable://PROJECT/INSTANCE?prefix=PREFIX&profile=APP_PROFILE"';
const identifier = /^[a-z0-9][a-z0-9.:_-]*$/i;

/** Reads `bigtable://PROJECT/INSTANCE?prefix=P&profile=APP_PROFILE`. */
export function parseLocation(place: string): BigtableLocation {
  const refuse = (why: string) => new InvalidArgumentError(`${shape}; in "${place}" ${why}.`);
  if (!place.startsWith(scheme)) throw refuse(`there is no ${scheme} at the beginning`);
  const [path = "", query, ...more] = place.slice(scheme.length).split("?");
  const [project = "", instance = "", ...rest] = path.split("/");
  if (more.length > 0 || rest.some((part) => part !== "")) throw refuse("something follows the instance");
  if (!identifier.test(project)) throw refuse("the project's name is missing, or cannot be one");
  if (!identifier.test(instance)) throw refuse("the instance's name is missing, or cannot be one");
  const options = new URLSearchParams(query);
  for (const name of options.keys()) {
    if (name !== "prefix" && name !== "profile") throw refuse(`"${name}" is no option`);
  }
  const prefix = options.get("prefix") ?? undefined;
  if (prefix !== undefined && !/^[a-z0-9][a-z0-9_-]{0,19}$/i.test(prefix)) {
    throw refuse("the prefix must be 1 to 20 letters, digits, _ or -");
  }
  const profile = options.get("profile") ?? "default";
  if (!/^[a-z0-9_-]{1,50}$/i.test(profile)) throw refuse("the app profile cannot be one");
  return { project, instance, prefix, profile };
}

/** The location as text, again. */
export function showLocation({ project, instance, prefix, profile }: BigtableLocation): string {
  const options = new URLSearchParams();
  if (prefix !== undefined) options.set("prefix", prefix);
  if (profile !== "default") options.set("profile", profile);
  return `${scheme}${project}/${instance}${options.size === 0 ? "" : `?${options}`}`;
}
