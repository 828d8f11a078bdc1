/** Loads modules as usual, and reports them. */
export async function load(url, context, next) {
  process._rawDebug(`loaded ${url}`);
  return next(url, context);
}
