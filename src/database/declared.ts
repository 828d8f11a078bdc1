import { ObserverError, SchemaError } from "../errors/index.js";
import { isObserver } from "../observer/index.js";
import { describeValue, isTable } from "../schema/index.js";
import type { OpenOptions } from "./options.js";

/** What a list of a program's declarations takes. */
interface Kind {
  readonly list: "tables" | "observers";
  readonly name: "table" | "observer";
  readonly is: (item: unknown) => boolean;
  readonly call: string;
  readonly error: new (message: string) => Error;
}

const kinds: readonly Kind[] = [
  { list: "tables", name: "table", is: isTable, call: "table(name, columns)", error: SchemaError },
  {
    list: "observers",
    name: "observer",
    is: isObserver,
    call: "observer(name, column, run)",
    error: ObserverError,
  },
];

/**
 * Throws if something among the tables or observers is none.
 *
 * @throws SchemaError, or ObserverError.
 */
export function checkDeclared(options: OpenOptions): void {
  for (const kind of kinds) {
    const items: readonly unknown[] = options[kind.list] ?? [];
    for (const [index, item] of items.entries()) {
      if (kind.is(item)) continue;
      const a = kind.name === "table" ? "a table" : "an observer";
      throw new kind.error(
        `\`${kind.list}[${index}]\` is ${describeValue(item)}, not ${a}: ${adviceOn(item, kind)}.`,
      );
    }
  }
}

function adviceOn(item: unknown, { list, name, is, call }: Kind): string {
  if (item === undefined) {
    return "it may be imported from a module that imports this one, and that has not made it yet";
  }
  if (Array.isArray(item) && item.some(is)) return "spread the array, `...`";
  const members = item as { readonly [member: string]: unknown } | null;
  if (is(members?.[name])) return `give its \`${name}\``;
  const several = members?.[list];
  if (Array.isArray(several) && several.some(is)) return `give its \`${list}\`, \`...${list}\``;
  return `make it with \`${call}\``;
}
