import { test } from "vitest";
import { crashUnderLoad } from "./crashing.js";

test("when the server crashes under load, acknowledged commits are there, and none twice", () =>
  crashUnderLoad(3));
