import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** Returns the path of an emulator on this machine, or undefined if there is none. */
export function findEmulator(environment: NodeJS.ProcessEnv): string | undefined {
  const named = environment.PERCOLATOR_BIGTABLE_EMULATOR;
  if (named !== undefined && named !== "") {
    if (isProgram(named)) return named;
    throw new Error(`PERCOLATOR_BIGTABLE_EMULATOR names ${named}, which is no program.`);
  }
  return onPath("cbtemulator", environment) ?? besideGcloud(environment);
}

/** Returns the first program of that name on the PATH. */
export function onPath(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  const folders = (environment.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** The Google Cloud SDK keeps the emulator in a separate folder, which is not on the PATH. */
function besideGcloud(environment: NodeJS.ProcessEnv): string | undefined {
  const gcloud = onPath("gcloud", environment);
  if (gcloud === undefined) return undefined;
  const sdk = dirname(dirname(realpathSync(gcloud)));
  const emulator = join(sdk, "platform", "bigtable-emulator", "cbtemulator");
  return isProgram(emulator) ? emulator : undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
