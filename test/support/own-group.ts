/**
 * Refuses signals to the own process group (0) and to every process (-1). A process id that a test
 * does not know yet is easily 0, and SIGKILL to it ends the whole run without a word.
 */
const kill = process.kill.bind(process);
const refusing = Symbol.for("percolatordb.tests.refusing");

// Test files share a process, and each runs this module.
if (!(refusing in process.kill)) {
  process.kill = Object.assign(
    (pid: number, signal?: string | number) => {
      if (signal !== 0 && (pid === 0 || pid === -1)) {
        throw new Error(
          `process.kill(${pid}) would signal the test run's own process group, or more. Give the id of a process.`,
        );
      }
      return kill(pid, signal);
    },
    { [refusing]: true },
  );
}
