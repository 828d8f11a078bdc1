/**
 * Ends this process when the one that forked it has ended, even by `SIGKILL`: nobody else would. Does nothing if this process was not forked. To be
 * called when the process has begun, since it looks whether the parent has ended before.
 */
export function endWithParent(): void {
  if (process.send === undefined) return;
  if (process.connected) process.once("disconnect", () => process.exit());
  else process.exit();
}
