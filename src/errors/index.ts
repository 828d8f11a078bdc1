export { checkArgument, checkDatabase, checkOptionNames, checkText, type OptionNames } from "./arguments.js";
export { assert } from "./assert.js";
export * from "./errors.js";
export { messageOf } from "./message-of.js";
export { type PackageNeed, requirePackage } from "./require-package.js";
export { withoutPassword } from "./without-password.js";
