/**
 * Ends this process when the process that forked it has ended, even by `SIGKILL`. Does nothing if
 * this process was not forked. Call it at the start, because it checks whether the parent has ended
 * already.
 */
export function endWithParent(): void {
  if (process.send === undefined) return;
  if (process.connected) process.once("disconnect", () => process.exit());
  else process.exit();
}
