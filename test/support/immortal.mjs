// Loaded before a forked process. It keeps the process alive, so that only the process's own watch
// on its parent can end it.
setInterval(() => undefined, 1_000);
process.on("uncaughtException", () => undefined);
process.on("unhandledRejection", () => undefined);
process.send = () => true;
