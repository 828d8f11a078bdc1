import { customers, derivations, orders } from "./shop.js";

// biome-ignore lint/style/noDefaultExport: the command line takes a module's default export.
export default { tables: [orders, customers], derivations };
