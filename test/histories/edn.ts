import type { Element, Micro, Operation } from "./operations.js";

/**
 * Formats a history in EDN, with one line for each operation. Elle and its command line read this
 * format.
 */
export function writeEdn(operations: readonly Operation[]): string {
  return operations.map((operation) => `${lineOf(operation)}\n`).join("");
}

function lineOf({ index, time, type, process, value }: Operation): string {
  const at = time === undefined ? "" : ` :time ${time},`;
  return `{:index ${index},${at} :type :${type}, :process ${process}, :f :txn, :value [${value.map(ednMicro).join(" ")}]}`;
}

/** Formats a read or write in EDN. Error messages use this too. */
export function ednMicro({ f, key, value }: Micro): string {
  return `[:${f} ${ednElement(key)} ${ednValue(value)}]`;
}

function ednValue(value: Micro["value"]): string {
  if (value === null) return "nil";
  return typeof value === "object" ? `[${value.map(ednElement).join(" ")}]` : ednElement(value);
}

/** Control characters are escaped as in JSON, which EDN shares. */
function ednElement(element: Element): string {
  return typeof element === "number" ? String(element) : JSON.stringify(element);
}

/**
 * Parses a history: operations in sequence, or in one vector. Throws for invalid EDN and invalid
 * operations.
 */
export function readEdn(text: string): readonly Operation[] {
  const reader = new EdnReader(text);
  const items: Edn[] = [];
  for (let item = reader.read(); item !== undefined; item = reader.read()) items.push(item);
  const maps = items.length === 1 && Array.isArray(items[0]) ? (items[0] as readonly Edn[]) : items;
  return maps.map(operationOf);
}

type Edn = string | number | null | Keyword | readonly Edn[] | ReadonlyMap<string, Edn>;

class Keyword {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Reads the part of EDN that a history uses. */
class EdnReader {
  readonly #text: string;
  readonly #token = /[\s,]*("(?:[^"\\]|\\.)*"|[[\]{}]|[^\s,[\]{}"]+)/y;

  constructor(text: string) {
    this.#text = text.trimEnd();
  }

  /** Returns the next value, or undefined at the end. */
  read(): Edn | undefined {
    if (this.#token.lastIndex >= this.#text.length) return undefined;
    return this.#value(this.#next());
  }

  #next(): string {
    const at = this.#token.lastIndex;
    const token = this.#token.exec(this.#text)?.[1];
    if (token === undefined) throw new Error(`The history ends too early, or is no EDN, at character ${at}.`);
    return token;
  }

  #value(token: string): Edn {
    if (token === "[") return this.#until("]");
    if (token === "{") return this.#map();
    if (token === "nil") return null;
    if (token.startsWith(":")) return new Keyword(token.slice(1));
    if (token.startsWith('"')) return JSON.parse(token) as string;
    if (/^-?\d+$/.test(token)) return Number(token);
    throw new Error(`"${token}" is no EDN of a history.`);
  }

  #map(): ReadonlyMap<string, Edn> {
    const items = this.#until("}");
    const map = new Map<string, Edn>();
    for (let at = 0; at < items.length; at += 2) {
      const [name, value] = [items[at], items[at + 1]];
      if (!(name instanceof Keyword) || value === undefined)
        throw new Error("A map has a key that is no keyword.");
      map.set(name.name, value);
    }
    return map;
  }

  #until(end: string): readonly Edn[] {
    const items: Edn[] = [];
    for (let token = this.#next(); token !== end; token = this.#next()) items.push(this.#value(token));
    return items;
  }
}

const types = new Set(["invoke", "ok", "fail", "info"]);

function operationOf(item: Edn): Operation {
  if (!(item instanceof Map)) throw new Error("A history consists of maps, one for each operation.");
  const map = item as ReadonlyMap<string, Edn>;
  const [index, time, type, process] = ["index", "time", "type", "process"].map((name) => map.get(name));
  const value = map.get("value");
  const isOne =
    Number.isSafeInteger(index) &&
    (time === undefined || Number.isSafeInteger(time)) &&
    type instanceof Keyword &&
    types.has(type.name) &&
    Number.isSafeInteger(process) &&
    Array.isArray(value);
  if (!isOne) throw new Error(`Operation ${String(index)} lacks a part: index, type, process, or value.`);
  return {
    index: index as number,
    ...(time === undefined ? {} : { time: time as number }),
    type: (type as Keyword).name as Operation["type"],
    process: process as number,
    value: (value as readonly Edn[]).map((micro) => microOf(micro, index as number)),
  };
}

function microOf(item: Edn, index: number): Micro {
  const [f, key, value] = Array.isArray(item) ? (item as readonly Edn[]) : [];
  if (f instanceof Keyword && isElement(key)) {
    if (f.name === "r") {
      const isRead = value === null || isElement(value) || (Array.isArray(value) && value.every(isElement));
      if (isRead) return { f: "r", key, value: value as Element | readonly Element[] | null };
    } else if ((f.name === "append" || f.name === "w") && isElement(value)) return { f: f.name, key, value };
  }
  throw new Error(`Operation ${index} has a part that is no read, append, or write.`);
}

function isElement(value: Edn | undefined): value is Element {
  return typeof value === "string" || Number.isSafeInteger(value);
}
