import { InvalidArgumentError } from "../../errors/index.js";
import { showCellName } from "./encoded.js";
import type { CellName, History, RecordedTransaction } from "./history.js";

type Element = string | number;
type List = readonly Element[];

/** One line of the output, before it is formatted. */
interface Moment {
  readonly at: number;
  readonly type: ":invoke" | ":ok" | ":fail" | ":info";
  readonly transaction: RecordedTransaction;
}

/**
 * Converts a list-append history to the format of Elle, a checker of isolation: EDN, one operation
 * a line. The workload appends to cells of a `json` column that hold lists of numbers or strings.
 * Each write sets the list that the transaction last saw in the cell, plus one element. Keys are
 * the rows, with the column before them if there are several columns. The format has no deletes and
 * no ranges.
 *
 * @throws InvalidArgumentError for a write that appends nothing, and for a value that is no list.
 *
 * @example
 * await writeFile("history.edn", toElle(recorder.history()));   // elle-cli --model list-append history.edn
 */
export function toElle(history: History): string {
  const key = keyNames(history);
  const processes = new Processes();
  const lines = momentsOf(history).map(({ type, transaction }, index) => {
    const process = type === ":invoke" ? processes.begin(transaction) : processes.end(transaction, type);
    const value = operations(transaction, key, type === ":ok");
    return `{:index ${index}, :type ${type}, :process ${process}, :f :txn, :value [${value.join(" ")}]}`;
  });
  return lines.map((line) => `${line}\n`).join("");
}

/**
 * Assigns Elle processes. A process has one transaction at a time, and none after one whose outcome
 * is unknown.
 */
class Processes {
  readonly #free: number[] = [];
  readonly #running = new Map<number, number>();
  #next = 0;

  begin({ id }: RecordedTransaction): number {
    const process = this.#free.pop() ?? this.#next++;
    this.#running.set(id, process);
    return process;
  }

  end({ id }: RecordedTransaction, type: Moment["type"]): number {
    const process = this.#running.get(id)!;
    if (type !== ":info") this.#free.push(process);
    return process;
  }
}

function momentsOf({ transactions }: History): readonly Moment[] {
  const moments: Moment[] = [];
  for (const transaction of transactions) {
    const { begun, ended, outcome, operations: all } = transaction;
    const times = all.flatMap((each) => (each.type === "write" ? [each.at] : [each.invoked, each.completed]));
    if (times.length === 0) continue;
    const first = Math.min(begun ?? Number.POSITIVE_INFINITY, ...times);
    const last = Math.max(ended ?? 0, ...times);
    moments.push({ at: first, type: ":invoke", transaction });
    if (outcome.type === "committed") moments.push({ at: last, type: ":ok", transaction });
    else if (outcome.type === "unknown") {
      moments.push({ at: Number.POSITIVE_INFINITY, type: ":info", transaction });
    } else moments.push({ at: last, type: ":fail", transaction });
  }
  return moments.sort((a, b) => (a.at === b.at ? a.transaction.id - b.transaction.id : a.at - b.at));
}

function operations(
  transaction: RecordedTransaction,
  key: (cell: CellName) => string,
  withReads: boolean,
): readonly string[] {
  const shown = new Map<string, List>();
  return transaction.operations.map((operation) => {
    if (operation.type === "range") {
      throw new InvalidArgumentError(
        `T${transaction.id} read a range of "${operation.table}": a list-append history has only gets and sets.`,
      );
    }
    const name = key(operation.cell);
    const list = parseList(transaction, operation.cell, operation.value);
    if (operation.type === "read") {
      shown.set(name, list ?? []);
      return `[:r ${name} ${withReads && list !== undefined ? `[${list.map(edn).join(" ")}]` : "nil"}]`;
    }
    const before = shown.get(name) ?? [];
    const isAppend =
      list?.length === before.length + 1 && before.every((element, at) => element === list[at]);
    if (!isAppend) {
      throw new InvalidArgumentError(
        `T${transaction.id} set ${showCellName(operation.cell)} to ${operation.value ?? "nothing"}, which does not append one ` +
          `element to what it was shown before, [${before.join(", ")}]: only list-append histories can be exported.`,
      );
    }
    shown.set(name, list);
    return `[:append ${name} ${edn(list.at(-1)!)}]`;
  });
}

function parseList({ id }: RecordedTransaction, cell: CellName, value: string | undefined): List | undefined {
  if (value === undefined) return undefined;
  const list = parseJson(value);
  const isElement = (each: unknown) => typeof each === "string" || Number.isSafeInteger(each);
  if (Array.isArray(list) && list.every(isElement)) return list as List;
  throw new InvalidArgumentError(
    `T${id} has ${value} for ${showCellName(cell)}: a list-append history has lists of whole numbers or strings.`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns a function that formats the key of a cell in EDN: its row, or `table.column.row` if the
 * history has several columns. A key of digits becomes a number.
 */
function keyNames({ transactions }: History): (cell: CellName) => string {
  const columns = new Set<string>();
  for (const { operations: all } of transactions) {
    for (const operation of all) {
      if (operation.type !== "range") columns.add(`${operation.cell.table}.${operation.cell.column}`);
    }
  }
  return ({ table, column, row }) => {
    const name = columns.size > 1 ? `${table}.${column}.${row}` : row;
    return /^(0|[1-9]\d{0,14})$/.test(name) ? name : edn(name);
  };
}

/**
 * Formats a number or string in EDN. Control characters are escaped as in JSON, which EDN shares.
 */
function edn(value: Element): string {
  return typeof value === "number" ? String(value) : JSON.stringify(value);
}
