import { resolve } from "node:path";
import type { Variables } from "../../backup/index.js";
import type { Environment } from "../../environment/index.js";
import type { Cli } from "../cli.js";
import { UsageError } from "../usage-error.js";

/** What a storage of backups takes from the command's process. */
export function storageInput(cli: Cli): { readonly environment: Environment; readonly variables: Variables } {
  return { environment: cli.environment, variables: cli.io.env ?? {} };
}

/** The place of backups. A folder is resolved against the working directory of the command. */
export function backupPlaceOf(place: string, cwd: string): string {
  if (place === "")
    throw new UsageError("The place of the backups is empty. Give a folder, or s3://BUCKET/PREFIX.");
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(place) ? place : resolve(cwd, place);
}
