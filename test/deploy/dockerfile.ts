import { deployed } from "./files.js";

export interface Instruction {
  readonly name: string;
  readonly rest: string;
}

export interface Stage {
  readonly image: string;
  readonly as: string | undefined;
  readonly instructions: readonly Instruction[];
}

const known = "FROM RUN COPY WORKDIR ENV USER VOLUME STOPSIGNAL ENTRYPOINT CMD".split(" ");

/**
 * Returns the stages of `deploy/Dockerfile`. Throws for an instruction that should not be there.
 */
export function stages(): readonly Stage[] {
  const found: { image: string; as: string | undefined; instructions: Instruction[] }[] = [];
  const lines = deployed("Dockerfile").replaceAll("\\\n", " ").split("\n");
  for (const line of lines) {
    if (line === "" || line.startsWith("#")) continue;
    const [name = "", ...words] = line.split(" ");
    if (!known.includes(name)) throw new Error(`The Dockerfile says "${line}".`);
    const rest = words.join(" ");
    if (name !== "FROM") {
      found.at(-1)!.instructions.push({ name, rest });
      continue;
    }
    const from = /^(\S+)(?: AS (\S+))?$/.exec(rest);
    found.push({ image: from![1]!, as: from![2], instructions: [] });
  }
  return found;
}

export interface Copy {
  /** The stage from which it copies. Undefined: the repository. */
  readonly from: string | undefined;
  readonly sources: readonly string[];
  readonly target: string;
}

/** The COPY instructions of a stage. */
export function copiesOf(stage: Stage): readonly Copy[] {
  return stage.instructions
    .filter(({ name }) => name === "COPY")
    .map(({ rest }) => {
      const words = rest.split(" ");
      const from = words[0]!.startsWith("--from=") ? words.shift()!.slice("--from=".length) : undefined;
      return { from, sources: words.slice(0, -1), target: words.at(-1)! };
    });
}
