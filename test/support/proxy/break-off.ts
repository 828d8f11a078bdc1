import type { Socket } from "node:net";

/**
 * Ends a connection with a reset. Closes a connection that is sending its end instead, because Node
 * would never finish closing it.
 */
export function breakOff(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished;
  if (isEnding) socket.destroy();
  else socket.resetAndDestroy();
}
