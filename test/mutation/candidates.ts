import ts from "typescript";

/** The ways in which a mutant differs from the source. */
export const kinds = [
  "off by one",
  "negated",
  "guard removed",
  "await removed",
  "swapped",
  "1 removed",
  "operand removed",
] as const;
export type Kind = (typeof kinds)[number];

/** A place in a source file, and its text in the mutant. */
export interface Candidate {
  readonly path: string;
  readonly kind: Kind;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** The changed place before and after, on one line. */
  readonly change: string;
}

/** Longer swaps are left out, because the order of ten lines is too much to judge at a glance. */
const maxShown = 70;
/** Reports and traces. A mutant in them changes only messages, not behaviour. */
const reporting =
  /\b(?:events|logger|metrics|statistics|tracer|hooks)\b[^(]*\.\w+$|(?:^|\.)#?emit\w*$|(?:^|\.)#?onFailure$/;
/** Functions that format values. */
const wording = /^#?(?:toString|toJSON|inspect|describe|show|name|message)(?![a-z])|(?:Message|Text|Words)$/;

const comparisons = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.LessThanToken, "<="],
  [ts.SyntaxKind.LessThanEqualsToken, "<"],
  [ts.SyntaxKind.GreaterThanToken, ">="],
  [ts.SyntaxKind.GreaterThanEqualsToken, ">"],
]);
const equalities = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.EqualsEqualsEqualsToken, "!=="],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, "==="],
]);
const additions = new Set([ts.SyntaxKind.PlusToken, ts.SyntaxKind.MinusToken]);
const neutral = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.AmpersandAmpersandToken, "true"],
  [ts.SyntaxKind.BarBarToken, "false"],
]);

/** Returns every mutant of a source file, in text order. Messages, reports and types have none. */
export function candidatesOf(path: string, text: string): readonly Candidate[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const found: Candidate[] = [];

  const add = (kind: Kind, node: ts.Node, replacement: string, last = node) => {
    const start = node.getStart(file);
    const end = last.getEnd();
    const change = `${shown(text.slice(start, end))} → ${shown(replacement)}`;
    const line = file.getLineAndCharacterOfPosition(start).line + 1;
    found.push({ path, kind, line, start, end, replacement, change });
  };

  const visit = (node: ts.Node): void => {
    if (isLeftOut(node, file)) return;
    if (ts.isBinaryExpression(node)) binary(node);
    else if (ts.isAwaitExpression(node)) add("await removed", node, node.expression.getText(file));
    else if (ts.isIfStatement(node) || ts.isWhileStatement(node)) condition(node, node.expression);
    else if (ts.isConditionalExpression(node)) condition(node, node.condition);
    if (ts.isBlock(node) || ts.isCaseOrDefaultClause(node)) orders(node.statements);
    ts.forEachChild(node, visit);
  };

  const binary = ({ left, operatorToken: operator, right }: ts.BinaryExpression) => {
    const other = comparisons.get(operator.kind);
    if (other !== undefined) add("off by one", left, replaced(left, operator, right, other), right);
    const opposite = equalities.get(operator.kind);
    if (opposite !== undefined) add("negated", left, replaced(left, operator, right, opposite), right);
    if (additions.has(operator.kind) && right.getText(file) === "1")
      add("1 removed", left, left.getText(file), right);
    const constant = neutral.get(operator.kind);
    if (constant !== undefined) {
      const middle = text.slice(left.getEnd(), right.getStart(file));
      add("operand removed", left, `${constant}${middle}${right.getText(file)}`, right);
      add("operand removed", left, `${left.getText(file)}${middle}${constant}`, right);
    }
  };

  const replaced = (left: ts.Node, operator: ts.Node, right: ts.Node, by: string) =>
    text.slice(left.getStart(file), operator.getStart(file)) +
    by +
    text.slice(operator.getEnd(), right.getEnd());

  const condition = (node: ts.Node, expression: ts.Expression) => {
    const isComparison =
      ts.isBinaryExpression(expression) &&
      (comparisons.has(expression.operatorToken.kind) || equalities.has(expression.operatorToken.kind));
    if (!isComparison) add("negated", expression, `!(${expression.getText(file)})`);
    if (ts.isIfStatement(node) && node.elseStatement === undefined && leaves(node.thenStatement))
      add("guard removed", node, ";");
  };

  const orders = (statements: ts.NodeArray<ts.Statement>) => {
    for (const [i, first] of statements.entries()) {
      const second = statements[i + 1];
      if (second === undefined || !areIndependent(first, second, file)) continue;
      const between = text.slice(first.getEnd(), second.getStart(file));
      add("swapped", first, second.getText(file) + between + first.getText(file), second);
    }
  };

  visit(file);
  return found;
}

/** Returns the source with a mutant in it. */
export function mutated(text: string, { start, end, replacement }: Candidate): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

function shown(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length <= maxShown ? line : `${line.slice(0, maxShown - 1)}…`;
}

/** Whether a statement does nothing but return, throw, continue or break. */
function leaves(statement: ts.Statement): boolean {
  if (ts.isBlock(statement)) return statement.statements.length === 1 && leaves(statement.statements[0]!);
  return (
    ts.isReturnStatement(statement) ||
    ts.isThrowStatement(statement) ||
    ts.isBreakOrContinueStatement(statement)
  );
}

function isLeftOut(node: ts.Node, file: ts.SourceFile): boolean {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return true;
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isTemplateExpression(node))
    return true;
  if (ts.isThrowStatement(node)) return true;
  if (ts.isNewExpression(node)) return node.expression.getText(file).endsWith("Error");
  if (ts.isCallExpression(node)) return reporting.test(node.expression.getText(file));
  if (ts.isIfStatement(node)) return callsReporting(node.expression, file);
  if (!ts.isFunctionDeclaration(node) && !ts.isMethodDeclaration(node) && !ts.isGetAccessor(node))
    return false;
  if (/Error$/.test(node.type?.getText(file) ?? "")) return true;
  return wording.test(node.name?.getText(file) ?? "");
}

function callsReporting(node: ts.Node, file: ts.SourceFile): boolean {
  if (ts.isCallExpression(node) && reporting.test(node.expression.getText(file))) return true;
  return ts.forEachChild(node, (child) => callsReporting(child, file) || undefined) ?? false;
}

/**
 * Whether two statements may be swapped without breaking names. Both must have effects, and neither
 * may use what the other declares or assigns.
 */
function areIndependent(first: ts.Statement, second: ts.Statement, file: ts.SourceFile): boolean {
  if (![first, second].every((each) => ts.isExpressionStatement(each) || ts.isVariableStatement(each)))
    return false;
  if (
    ![first, second].every((each) => acts(each)) ||
    callsReporting(first, file) ||
    callsReporting(second, file)
  )
    return false;
  const used = [usedBy(first, file), usedBy(second, file)] as const;
  const made = [madeBy(first, file), madeBy(second, file)] as const;
  return !made[0].some((name) => used[1].has(name)) && !made[1].some((name) => used[0].has(name));
}

/** Whether a statement calls, awaits or assigns. The order of pure declarations does not matter. */
function acts(node: ts.Node): boolean {
  if (ts.isCallExpression(node) || ts.isAwaitExpression(node) || ts.isDeleteExpression(node)) return true;
  if (ts.isBinaryExpression(node) && isAssignment(node)) return true;
  if (ts.isFunctionLike(node)) return false;
  return ts.forEachChild(node, (child) => acts(child) || undefined) ?? false;
}

function isAssignment({ operatorToken }: ts.BinaryExpression): boolean {
  return (
    operatorToken.kind >= ts.SyntaxKind.FirstAssignment && operatorToken.kind <= ts.SyntaxKind.LastAssignment
  );
}

function usedBy(node: ts.Node, file: ts.SourceFile): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (each: ts.Node): void => {
    if (ts.isIdentifier(each) || ts.isPropertyAccessExpression(each)) names.add(each.getText(file));
    ts.forEachChild(each, visit);
  };
  visit(node);
  return names;
}

function madeBy(node: ts.Node, file: ts.SourceFile): readonly string[] {
  const names: string[] = [];
  const visit = (each: ts.Node): void => {
    if (ts.isVariableDeclaration(each) || ts.isBindingElement(each)) names.push(...usedBy(each.name, file));
    if (ts.isBinaryExpression(each) && isAssignment(each)) names.push(each.left.getText(file));
    ts.forEachChild(each, visit);
  };
  visit(node);
  return names;
}
