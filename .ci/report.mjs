import { readFileSync } from "node:fs";

const print = (line) => process.stdout.write(`${line}\n`);
const reports = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")));

for (const { name, message, status, assertionResults } of reports.flatMap(({ testResults }) => testResults)) {
  if (status === "failed" && message) print(`FAILED ${name}\n${message}`);
  for (const { status: outcome, fullName, failureMessages } of assertionResults) {
    if (outcome === "failed") print(`FAILED ${fullName} (${name})\n${failureMessages.join("\n")}`);
  }
}

const count = (select) => reports.reduce((sum, report) => sum + select(report), 0);
const failed = count((report) => report.numFailedTests);
const skipped = count((report) => report.numPendingTests);
print(
  `${count((report) => report.numPassedTests)} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
);

const isRight = ({ success, numPassedTests, numFailedTestSuites }) =>
  success === true && numPassedTests > 0 && numFailedTestSuites === 0;
process.exitCode = failed === 0 && reports.every(isRight) ? 0 : 1;
