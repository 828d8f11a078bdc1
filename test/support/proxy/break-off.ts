import type { Socket } from "node:net";

/** Ends a connection with a reset. One that is just saying its end is closed instead: Node would then never close it, nor end. */
export function breakOff(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished;
  if (isEnding) socket.destroy();
  else socket.resetAndDestroy();
}
