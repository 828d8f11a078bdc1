/** A task that fails in the way, and as often, as its document says. For tests. */
import { appendFileSync, readFileSync } from "node:fs";
import { render } from "../render.js";

/** A document for this module: `times` computations of it fail, and each adds a line to `file`. */
export interface Fault {
  readonly fault: "throw" | "exit" | "memory" | "uncopiable" | "endless";
  readonly times: number;
  /** The file that counts the computations of this document. */
  readonly file: string;
}

/** Writes a document with a fault. */
export function faulty(fault: Fault): Uint8Array {
  return Buffer.from(JSON.stringify(fault));
}

function compute(markdown: Uint8Array): unknown {
  const text = Buffer.from(markdown).toString();
  if (!text.startsWith("{")) return render({ markdown });
  const { fault, times, file } = JSON.parse(text) as Fault;
  appendFileSync(file, `${fault}\n`);
  if (readFileSync(file, "utf8").trimEnd().split("\n").length > times) return render({ markdown });
  switch (fault) {
    case "throw":
      throw new RangeError("This document cannot be rendered.");
    case "exit":
      process.exit(3);
      break;
    case "memory":
      for (const all: unknown[] = []; ; ) all.push(new Array(100_000).fill(all.length));
    case "uncopiable":
      return () => 1;
    case "endless":
      for (;;);
  }
}

// biome-ignore lint/style/noDefaultExport: what a thread of the pool calls
export default ({ markdown }: { readonly markdown: Uint8Array }) => compute(markdown);
