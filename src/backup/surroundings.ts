import { type Environment, systemEnvironment } from "../environment/index.js";
import type { Variables } from "./storage.js";

/** What every call of `percolatordb/backup` takes. */
export interface PlaceOptions {
  /** Time, randomness and timers. Default: the system's. */
  readonly environment?: Environment | undefined;
  /** The variables that hold the keys of a bucket, such as `AWS_ACCESS_KEY_ID`. Default: `process.env`. */
  readonly variables?: Variables | undefined;
}

/** {@link PlaceOptions} with their defaults. */
export interface Surroundings {
  readonly environment: Environment;
  readonly variables: Variables;
}

export function surroundingsOf({ environment, variables }: PlaceOptions): Surroundings {
  return { environment: environment ?? systemEnvironment, variables: variables ?? process.env };
}
