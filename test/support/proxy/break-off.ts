import type { Socket } from "node:net";

/**
 * Ends a connection with a reset. If the connection is already sending its end, closes it without a
 * reset, because Node would never finish the reset. A connection without a remote address has
 * ended, or is one of a Unix socket, which knows no reset: closes it too.
 */
export function breakOff(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished;
  if (isEnding || socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}
