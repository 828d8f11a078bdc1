import { test } from "vitest";
import { crashUnderLoad } from "./crashing.js";

test(
  "the server crashes 20 times under load, and acknowledged commits are there, and none twice",
  () => crashUnderLoad(20),
  300_000,
);
