import type { RowRead, RowStore } from "../../src/store/index.js";
import { PassingStore } from "../../src/transaction/wire/passing-store.js";

/**
 * A store that lends the values of a row, as the contract allows: they are valid only until the caller
 * yields. `store` must answer at once.
 */
export class LendingStore extends PassingStore implements RowStore {
  override readRow(read: RowRead) {
    const page = super.readRow(read);
    if (page instanceof Promise) return page;
    const lent: Buffer[] = [];
    const cells = page.cells.map((cell) => {
      if (cell.write === undefined) return cell;
      const value = Buffer.from(cell.write.value);
      lent.push(value);
      return { ...cell, write: { ...cell.write, value } };
    });
    queueMicrotask(() => {
      for (const value of lent) value.fill(0xff);
    });
    return { ...page, cells };
  }
}
