import { resolve } from "node:path";
import type { Variables } from "../../backup/index.js";
import type { Environment } from "../../environment/index.js";
import type { Cli } from "../cli.js";

/** What a storage of backups takes from the command's process. */
export function storageInput(cli: Cli): { readonly environment: Environment; readonly variables: Variables } {
  return { environment: cli.environment, variables: cli.io.env ?? {} };
}

/** The place of backups. A folder is resolved against the working directory of the command. */
export function backupPlaceOf(place: string, cwd: string): string {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(place) ? place : resolve(cwd, place);
}
