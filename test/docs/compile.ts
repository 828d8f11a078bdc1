import { dirname } from "node:path";
import ts from "typescript";

/** Returns the compiler's errors in some files, with the project's options. */
export function compilerErrors(config: string, paths: readonly string[]): readonly string[] {
  const { config: read } = ts.readConfigFile(config, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(
    { ...read, include: [], files: paths },
    ts.sys,
    dirname(config),
  );
  const program = ts.createProgram({ rootNames: paths, options });
  return paths.flatMap((path) => {
    const source = program.getSourceFile(path);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map(({ messageText }) => `${path}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`);
  });
}
