/** Loads modules as always, and says which. */
export async function load(url, context, next) {
  process._rawDebug(`loaded ${url}`);
  return next(url, context);
}
