/**
 * Ends this process when the process that forked it has ended, even by `SIGKILL`. Does nothing if
 * this process was not forked. Call it at the start: until then, this process would survive its parent. If
 * the parent has already ended, the call ends this process at once.
 */
export function endWithParent(): void {
  if (process.send === undefined) return;
  if (process.connected) process.once("disconnect", () => process.exit());
  else process.exit();
}
