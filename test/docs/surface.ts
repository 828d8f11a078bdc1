import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { root } from "./examples.js";

/** An entry point of the package: its name for imports, and its file. */
export interface Entry {
  readonly specifier: string;
  readonly source: string;
}

/** A name that an entry exports, with its doc comment. */
export interface Exported {
  readonly specifier: string;
  readonly name: string;
  readonly comment: string;
}

/** A member of an interface, with its doc comment. */
export interface Member {
  readonly name: string;
  readonly comment: string;
}

/** Returns the entry points that package.json names. */
export function entries(): readonly Entry[] {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly name: string;
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return Object.entries(manifest.exports).flatMap(([path, target]) => {
    if (typeof target === "string") return [];
    const source = target.types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts");
    return { specifier: `${manifest.name}${path.slice(1)}`, source: join(root, source) };
  });
}

/** The public surface of the package, as the compiler sees it. */
export class Surface {
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;

  constructor() {
    const config = join(root, "tsconfig.json");
    const { config: read } = ts.readConfigFile(config, ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent({ ...read, include: [] }, ts.sys, dirname(config));
    this.#program = ts.createProgram({ rootNames: entries().map(({ source }) => source), options });
    this.#checker = this.#program.getTypeChecker();
  }

  /** Everything that is exported. */
  exported(): readonly Exported[] {
    return entries().flatMap(({ specifier, source }) =>
      this.#symbols(source).map((symbol) => ({
        specifier,
        name: symbol.name,
        comment: this.#comment(this.#resolved(symbol)),
      })),
    );
  }

  /**
   * Returns the members of an exported interface in declaration order, inherited ones first, without those
   * that may only be undefined.
   */
  members(interfaceName: string): readonly Member[] {
    const symbol = entries()
      .flatMap(({ source }) => this.#symbols(source))
      .find(({ name }) => name === interfaceName);
    if (symbol === undefined) throw new Error(`The package exports no ${interfaceName}.`);
    const type = this.#checker.getDeclaredTypeOfSymbol(this.#resolved(symbol));
    return type
      .getProperties()
      .filter((member) => !(this.#checker.getTypeOfSymbol(member).flags & ts.TypeFlags.Undefined))
      .map((member) => ({ name: member.name, comment: this.#comment(member) }));
  }

  #symbols(source: string): readonly ts.Symbol[] {
    const file = this.#program.getSourceFile(source)!;
    return this.#checker.getExportsOfModule(this.#checker.getSymbolAtLocation(file)!);
  }

  #resolved(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  #comment(symbol: ts.Symbol): string {
    return ts
      .displayPartsToString(symbol.getDocumentationComment(this.#checker))
      .replaceAll(/\s+/g, " ")
      .trim();
  }
}
