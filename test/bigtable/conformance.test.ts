import { bigtableConformance } from "./bigtable-conformance.js";

bigtableConformance({ gather: true, seeds: [1, 2, 3] });
