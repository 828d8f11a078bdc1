import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

const variable = "PERCOLATORDB_FIGURES_RUN";

/**
 * A variable in the environment of a command. Its child processes inherit it, so it identifies all
 * processes of the command.
 */
export interface Mark {
  readonly value: string;
  readonly environment: Readonly<Record<string, string>>;
}

export function newMark(): Mark {
  const value = randomUUID();
  return { value, environment: { [variable]: value } };
}

/**
 * Returns the processes that have the mark, including those that have left their parent's process
 * group, as servers do. Returns none if the system does not show the variables of processes. Then
 * only the process group is known.
 */
export function familyOf({ value }: Mark): readonly number[] {
  if (process.platform !== "linux") return [];
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.filter((id) => environmentOf(id).includes(`${variable}=${value}`)).map(Number);
}

function environmentOf(id: string): string {
  try {
    return readFileSync(`/proc/${id}/environ`, "latin1");
  } catch {
    // The process has ended, or belongs to another user.
    return "";
  }
}
