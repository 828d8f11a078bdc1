import { Command } from "commander";
import { packageManifest } from "../environment/index.js";
import type { AddCommand, Cli } from "./cli.js";
import { addDelete } from "./commands/data/delete.js";
import { addExport } from "./commands/data/export.js";
import { addGet } from "./commands/data/get.js";
import { addHistory } from "./commands/data/history.js";
import { addImport } from "./commands/data/import.js";
import { addInspect } from "./commands/data/inspect.js";
import { addScan } from "./commands/data/scan.js";
import { addSet } from "./commands/data/set.js";
import { addWatch } from "./commands/data/watch.js";
import { addBackfill } from "./commands/operate/backfill.js";
import { addBackup } from "./commands/operate/backup.js";
import { addBackups } from "./commands/operate/backups.js";
import { addCheck } from "./commands/operate/check.js";
import { addCompact } from "./commands/operate/compact.js";
import { addDoctor } from "./commands/operate/doctor.js";
import { addDrop } from "./commands/operate/drop.js";
import { addGc } from "./commands/operate/gc.js";
import { addLoads } from "./commands/operate/loads.js";
import { addLocks } from "./commands/operate/locks.js";
import { addMigrate } from "./commands/operate/migrate.js";
import { addParked } from "./commands/operate/parked.js";
import { addPending } from "./commands/operate/pending.js";
import { addRebuild } from "./commands/operate/rebuild.js";
import { addRestore } from "./commands/operate/restore.js";
import { addSchema } from "./commands/operate/schema.js";
import { addStatus } from "./commands/operate/status.js";
import { addUnregister } from "./commands/operate/unregister.js";
import { addWait } from "./commands/operate/wait.js";
import { addCoordinator } from "./commands/serve/coordinator.js";
import { addDashboard } from "./commands/serve/dashboard.js";
import { addWorker } from "./commands/serve/worker.js";
import { addBench } from "./commands/setup/bench.js";
import { addCompletion } from "./commands/setup/completion.js";
import { addInit } from "./commands/setup/init.js";
import { addAttach } from "./commands/sql/attach.js";
import { addDetach } from "./commands/sql/detach.js";
import { addViews } from "./commands/sql/views.js";
import type { Output } from "./print/output.js";

/** The commands in the order of the help. */
const commands: readonly AddCommand[] = [
  addInit,
  addGet,
  addSet,
  addDelete,
  addScan,
  addHistory,
  addWatch,
  addInspect,
  addWorker,
  addCoordinator,
  addDashboard,
  addStatus,
  addWait,
  addPending,
  addBackfill,
  addSchema,
  addMigrate,
  addRebuild,
  addDrop,
  addUnregister,
  addParked,
  addLocks,
  addLoads,
  addGc,
  addCheck,
  addDoctor,
  addBackup,
  addBackups,
  addRestore,
  addCompact,
  addExport,
  addImport,
  addAttach,
  addDetach,
  addViews,
  addBench,
  addCompletion,
];

const afterHelp = `
LOCATION is a folder with a database, postgres://USER@HOST/DATABASE, or bigtable://PROJECT/INSTANCE. A TARGET is TABLE, TABLE.COLUMN,
TABLE.FAMILY or TABLE.FAMILY:QUALIFIER. Give a row as text, and a composite key as a JSON array. Give arguments that begin with - after --.

Examples:
  $ percolator worker ./data ./app.ts
  $ percolator scan ./data documents --limit 10
  $ percolator status ./data --json
  $ percolator doctor ./data ./app.ts
  $ percolator export ./data backup.jsonl.gz

Exit codes:
  0    done
  1    nothing found, problems found, a store that cannot be opened or is damaged, or a deadline that passed
  2    a wrong command: an unknown command, option, table, column or observer, or a key or value that its codec refuses
  3    a worker has nothing left to run: its observers were unregistered, or are registered in newer versions
  4    not all output could be written, for example because the disk is full. The command's changes are committed
  141  the reader of the output closed it before the command had printed everything, as head does
  130  interrupted by SIGINT; 143 by SIGTERM. A second signal ends a command at once.

Data goes to the standard output, everything else to the error stream. With --json each document is one line; an error is
{"error":{"code","message"}} on the error stream.
`;

/** The program with all its commands. */
export function buildProgram(cli: Cli): Command {
  const program = new Command("percolator");
  // `runCli` flushes at the end and reports output that was lost.
  const write = (output: Output) => (text: string) => {
    output.write(text).catch(() => undefined);
  };
  program
    .description("Reads and changes databases of percolatordb, and runs their observers.")
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
