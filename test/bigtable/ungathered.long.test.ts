import { bigtableConformance } from "./bigtable-conformance.js";

bigtableConformance({ gather: false, seeds: [4] });
