import { join } from "node:path";
import ts from "typescript";
import { type Candidate, mutated } from "./candidates.js";

/**
 * The compiler, which judges a mutant before any test. The tests run without type checks, so they
 * could kill a mutant with wrong types. But the compiler would never let such a mistake into the
 * source.
 */
export class Compiler {
  readonly #root: string;
  readonly #config: ts.ParsedCommandLine;
  readonly #host: ts.CompilerHost;
  /** The unchanged source, so that the compiler checks only what a mutant can affect. */
  readonly #source: ts.SemanticDiagnosticsBuilderProgram;
  #mutant: { readonly path: string; readonly text: string } | undefined;

  constructor(root: string) {
    this.#root = root;
    const system: ts.System = {
      ...ts.sys,
      readFile: (path, encoding) =>
        path === this.#mutant?.path ? this.#mutant.text : ts.sys.readFile(path, encoding),
    };
    this.#config = configOf(join(root, "tsconfig.build.json"));
    this.#host = ts.createIncrementalCompilerHost(this.#config.options, system);
    this.#source = this.#program();
    const error = firstError(this.#source);
    if (error !== undefined) throw new Error(`The source itself does not compile: ${error} Mend it first.`);
  }

  /** Returns the compiler's error for a mutant, or undefined if it compiles. */
  errorOf(candidate: Candidate): string | undefined {
    const path = join(this.#root, candidate.path).replaceAll("\\", "/");
    this.#mutant = { path, text: mutated(ts.sys.readFile(path) ?? "", candidate) };
    try {
      return firstError(this.#program(this.#source));
    } finally {
      this.#mutant = undefined;
    }
  }

  #program(before?: ts.SemanticDiagnosticsBuilderProgram): ts.SemanticDiagnosticsBuilderProgram {
    const { fileNames, options } = this.#config;
    return ts.createSemanticDiagnosticsBuilderProgram(fileNames, options, this.#host, before);
  }
}

/** A removed guard may leave an unused name. That is untidy, but allowed here. */
function configOf(path: string): ts.ParsedCommandLine {
  const options: ts.CompilerOptions = {
    noEmit: true,
    incremental: true,
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
  const config = ts.getParsedCommandLineOfConfigFile(path, options, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
      throw new Error(textOf(diagnostic));
    },
  });
  if (config === undefined) throw new Error(`${path} cannot be read.`);
  return config;
}

function firstError(program: ts.SemanticDiagnosticsBuilderProgram): string | undefined {
  const [error] = [...program.getSyntacticDiagnostics(), ...program.getSemanticDiagnostics()];
  return error === undefined ? undefined : textOf(error);
}

function textOf({ messageText }: ts.Diagnostic): string {
  return ts.flattenDiagnosticMessageText(messageText, " ");
}
