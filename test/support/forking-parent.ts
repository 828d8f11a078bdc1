/**
 * Forks each script that it is given and prints the process id. It does not end these processes.
 * Only a script's own watch on its parent does.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const immortal = new URL("./immortal.mjs", import.meta.url).href;

for (const script of process.argv.slice(2)) {
  const env = {
    ...process.env,
    PERCOLATOR_PROCESS: "1",
    SIMULATION_PART: "0",
    NODE_OPTIONS: `--import ${immortal}`,
  };
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const execArgv = ["--import", "tsx"];
  const child = fork(script, [], { cwd: root, env, execArgv, stdio: ["ignore", "ignore", "ignore", "ipc"] });
  process.stdout.write(`${child.pid}\n`);
}
