import { readEdn } from "../edn.js";
import { judge } from "./judge.js";

/**
 * A history, a line for each operation: its process, its type (`+` begins, `ok`, `fail` and `info` end), and its value, which a line
 * without one takes from its beginning.
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

/** The kinds of everything that is found. */
export function kinds(text: string): readonly string[] {
  const { anomalies, allowed } = judge(history(text), "strict-serializable");
  return [...anomalies, ...allowed].map(({ kind }) => kind).sort();
}
