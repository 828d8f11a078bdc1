import { BackupAccessError, BackupError, BackupFullError, PercolatorError } from "../errors/index.js";

const full = "Free space there, or name another folder. Earlier backups are intact.";
const denied = "Let this user read and write there, or name another folder.";

/** What an error of the file system means, and what to do. */
const meanings: Readonly<Record<string, readonly [typeof BackupError, string]>> = {
  ENOSPC: [BackupFullError, full],
  EDQUOT: [BackupFullError, full],
  EFBIG: [BackupFullError, "This process may not write files of that size. Raise the limit (`ulimit -f`)."],
  EACCES: [BackupAccessError, denied],
  EPERM: [BackupAccessError, denied],
  EROFS: [BackupAccessError, "Its file system is read-only. Name another folder."],
  ENOTDIR: [BackupError, "A part of its path is a file. Name another folder."],
};

/** An error of the file system as one of this package. Other errors stay as they are. */
export function systemFailure(error: unknown, what: string): unknown {
  const code = codeOf(error);
  if (error instanceof PercolatorError || code === undefined || !(error instanceof Error)) return error;
  const [Failure, advice] = meanings[code] ?? [BackupError, ""];
  return new Failure(`${what}: ${error.message}. ${advice}`.trim(), { cause: error });
}

/** The code of an error of the system. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
