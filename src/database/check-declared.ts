import { ObserverError, SchemaError } from "../errors/index.js";
import { isObserver } from "../observer/index.js";
import { describeValue, isTable } from "../schema/index.js";
import type { DeclaredSchema } from "./declared.js";

/** What a list of a program's declarations takes. */
interface Kind {
  readonly list: "tables" | "observers" | "derivations" | "schedules" | "lookups";
  readonly name: "table" | "observer" | "derivation" | "schedule" | "lookup";
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
  {
    list: "derivations",
    name: "derivation",
    is: (item) =>
      isListOf(member(item, "tables"), isTable) && isListOf(member(item, "observers"), isObserver),
    call: "derive(name, ...)",
    error: SchemaError,
  },
  {
    list: "schedules",
    name: "schedule",
    is: (item) => isListOf(member(item, "tables"), isTable),
    call: "schedule(name, ...)",
    error: SchemaError,
  },
  {
    list: "lookups",
    name: "lookup",
    is: (item) => isTable(member(item, "table")),
    call: "uniqueConstraint(name, ...)",
    error: SchemaError,
  },
];

/**
 * Throws if something among the tables or observers is none.
 *
 * @throws SchemaError, or ObserverError.
 */
export function checkDeclared(options: DeclaredSchema): void {
  for (const kind of kinds) {
    const items: readonly unknown[] = options[kind.list] ?? [];
    for (const [index, item] of items.entries()) {
      if (kind.is(item)) continue;
      const a = kind.name === "observer" ? "an observer" : `a ${kind.name}`;
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
  if (is(member(item, name))) return `give its \`${name}\``;
  if (isListOf(member(item, list), is)) return `give its \`${list}\`, \`...${list}\``;
  return `make it with \`${call}\``;
}

function member(item: unknown, name: string): unknown {
  return typeof item === "object" && item !== null ? Reflect.get(item, name) : undefined;
}

function isListOf(value: unknown, is: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(is);
}
