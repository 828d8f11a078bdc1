import { Command } from "commander";
import { packageManifest } from "../environment/index.js";
import type { AddCommand, Cli } from "./cli.js";
import { addBackfill } from "./commands/backfill.js";
import { addBench } from "./commands/bench.js";
import { addCheck } from "./commands/check.js";
import { addCompletion } from "./commands/completion.js";
import { addCoordinator } from "./commands/coordinator.js";
import { addDashboard } from "./commands/dashboard.js";
import { addDelete } from "./commands/delete.js";
import { addDoctor } from "./commands/doctor.js";
import { addExport } from "./commands/export.js";
import { addGc } from "./commands/gc.js";
import { addGet } from "./commands/get.js";
import { addHistory } from "./commands/history.js";
import { addImport } from "./commands/import.js";
import { addInit } from "./commands/init.js";
import { addInspect } from "./commands/inspect.js";
import { addLocks } from "./commands/locks.js";
import { addParked } from "./commands/parked.js";
import { addPending } from "./commands/pending.js";
import { addScan } from "./commands/scan.js";
import { addSet } from "./commands/set.js";
import { addStatus } from "./commands/status.js";
import { addWait } from "./commands/wait.js";
import { addWorker } from "./commands/worker.js";
import type { Output } from "./output.js";

/** In the order of the help. */
const commands: readonly AddCommand[] = [
  addInit,
  addGet,
  addSet,
  addDelete,
  addScan,
  addHistory,
  addInspect,
  addWorker,
  addCoordinator,
  addDashboard,
  addStatus,
  addWait,
  addPending,
  addBackfill,
  addParked,
  addLocks,
  addGc,
  addCheck,
  addDoctor,
  addExport,
  addImport,
  addBench,
  addCompletion,
];

const afterHelp = `
LOCATION is a folder with a database, or bigtable://PROJECT/INSTANCE. A TARGET is TABLE, TABLE.COLUMN, TABLE.FAMILY or TABLE.FAMILY:QUALIFIER. Rows are
given as text; composite keys as JSON arrays. Give arguments that begin with - after --.

Examples:
  $ percolator worker ./data ./app.ts
  $ percolator scan ./data documents --limit 10
  $ percolator status ./data --json
  $ percolator doctor ./data ./app.ts
  $ percolator export ./data backup.jsonl.gz

Exit codes:
  0    done
  1    the data says no: nothing there, problems found, a store that cannot be opened or is damaged, a deadline passed
  2    the command cannot be meant: an unknown command, option, table or column, a key or value that its codec refuses
  3    a worker has nothing to run any more: its observers were unregistered, or are registered in newer versions
  4    what was printed could not be written, such as on a full disk: not all of it arrived. What the command did is done
  141  the reader of the output closed it before all was printed, as head does
  130  interrupted by SIGINT; 143 by SIGTERM. A second signal ends a command at once.

Data goes to the standard output, everything else to the error stream. With --json each document is one line; an error is
{"error":{"code","message"}} on the error stream.
`;

/** The program with all its commands. */
export function buildProgram(cli: Cli): Command {
  const program = new Command("percolator");
  // What cannot be printed is met by the flush at the end.
  const write = (output: Output) => (text: string) => {
    output.write(text).catch(() => undefined);
  };
  program
    .description("Looks into databases of percolatordb, changes them, and runs their observers.")
    .version(packageManifest().version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help for a command")
    .addHelpText("after", afterHelp)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: write(cli.out),
      writeErr: write(cli.err),
      outputError: () => undefined,
      getOutHelpWidth: () => cli.out.width ?? 100,
      getErrHelpWidth: () => cli.err.width ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .hook("preAction", (_, command) => {
      cli.json = command.opts().json === true;
    });
  for (const add of commands) add(program, cli);
  return program;
}
