import { readEdn } from "../edn.js";
import { judge } from "./judge.js";

/**
 * Parses a short notation of a history. Each line has the number of a process, a type (`+` begins a
 * transaction; `ok`, `fail` and `info` end it), and a value. If the value of an ending line is left
 * out, it is the value with which the process began its transaction.
 */
export function history(text: string) {
  const values = new Map<string, string>();
  const lines = text
    .trim()
    .split("\n")
    .map((line, index) => {
      const [, process, type, value] = /^\s*(\d+) (\+|ok|fail|info) ?(.*)$/.exec(line)!;
      if (type === "+") values.set(process!, value!);
      const shown = value === "" ? values.get(process!) : value;
      const name = type === "+" ? "invoke" : type;
      return `{:index ${index}, :type :${name}, :process ${process}, :f :txn, :value [${shown}]}`;
    });
  return readEdn(lines.join("\n"));
}

/** Returns the kinds of all findings. */
export function kinds(text: string): readonly string[] {
  const { anomalies, allowed } = judge(history(text), "strict-serializable");
  return [...anomalies, ...allowed].map(({ kind }) => kind).sort();
}
