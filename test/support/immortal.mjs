// Loaded before a forked process: nothing but its own care for its parent ends it.
setInterval(() => undefined, 1_000);
process.on("uncaughtException", () => undefined);
process.on("unhandledRejection", () => undefined);
process.send = () => true;
