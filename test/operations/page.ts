import { readFileSync } from "node:fs";
import { join } from "node:path";
import { blocksOf, root } from "../docs/examples.js";
import { wordsOf } from "../docs/story.js";

/** A command as a page shows it: in a block of `sh`, or in a sentence. */
export interface ShownCommand {
  readonly text: string;
  readonly line: number;
  /** Marked `no-run`: a test may take it, and need not. */
  readonly isShownOnly?: boolean;
}

/** The commands of a page with their placeholders filled in. Remembers which of them were used. */
export class CommandPage {
  readonly #page: string;
  readonly #markdown: string;
  readonly #commands: readonly ShownCommand[];
  readonly #used = new Set<ShownCommand>();
  readonly #ran = new Set<string | undefined>();
  /** The page's placeholders, with their values here. */
  readonly words: Record<string, string> = {};

  /** Reads a page, such as `docs/operations.md`. */
  constructor(page: string) {
    this.#page = page;
    this.#markdown = readFileSync(join(root, page), "utf8");
    this.#commands = [...this.#ofBlocks(), ...this.#ofSentences()];
  }

  /**
   * Returns the words of the first command with this beginning, with the placeholders filled in.
   * The command then counts as used. So does each shorter command on the page with which it begins.
   */
  take(beginning: string): readonly string[] {
    const command = this.#commands.find(({ text }) => `${text} `.startsWith(`${beginning} `));
    if (command === undefined) throw new Error(`${this.#page} shows no command \`${beginning}\`.`);
    for (const each of this.#commands)
      if (`${command.text} `.startsWith(`${each.text} `)) this.#used.add(each);
    return wordsOf(command.text).map((word) => this.#fill(word));
  }

  /** Records that a command of that name was run with arguments that the page leaves open. */
  ran(name: string): void {
    this.#ran.add(name);
  }

  /**
   * Commands of `percolator` that no step has run. A command that the page only names counts as run
   * if any command of that name was run.
   */
  get unused(): readonly string[] {
    const nameOf = ({ text }: ShownCommand) => text.split(" ")[1];
    const names = new Set([...this.#ran, ...[...this.#used].map(nameOf)]);
    return this.#commands
      .filter(({ isShownOnly }) => isShownOnly !== true)
      .filter((each) => (isName(each) ? !names.has(nameOf(each)) : !this.#used.has(each)))
      .map(({ text, line }) => `line ${line}: ${text}`);
  }

  #fill(word: string): string {
    const names = Object.keys(this.words).sort((a, b) => b.length - a.length);
    return names.reduce(
      (text, name) =>
        text.replaceAll(new RegExp(`(?<![\\w-])${escaped(name)}(?![\\w-])`, "g"), this.words[name]!),
      word,
    );
  }

  #ofBlocks(): readonly ShownCommand[] {
    return blocksOf(this.#markdown)
      .filter(({ language }) => language === "sh")
      .flatMap(({ body, line, isShownOnly }) =>
        body
          .split("\n")
          .map((text) => text.replace(/\s+#.*$/, "").trim())
          .filter((text) => text !== "")
          .map((text) => ({ text, line, isShownOnly })),
      );
  }

  #ofSentences(): readonly ShownCommand[] {
    return this.#markdown.split("\n").flatMap((text, index) =>
      [...text.matchAll(/`((?:percolator|node [\w.]+\.mjs) [^`]*)`/g)].map(([, command]) => ({
        text: command!,
        line: index + 1,
      })),
    );
  }
}

/** Whether a command is only mentioned, as in "`percolator check` looks at". */
function isName({ text }: ShownCommand): boolean {
  return text.startsWith("percolator ") && !/ (LOCATION|APP)\b/.test(text) && !text.includes("://");
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
