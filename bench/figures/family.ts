import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

const variable = "PERCOLATORDB_FIGURES_RUN";

/**
 * What the processes of a command have in common: a variable of their environment, which each one's
 * children inherit.
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
 * The processes that have the mark, also those that have left their parent's group, as servers do.
 * None if the system does not tell: there the group is all that is known.
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
    // It has ended, or is another user's.
    return "";
  }
}
