import { compareBytes, type Position } from "../store/index.js";

/** Most writes of a piece. One that grows beyond it is divided, so that an insertion moves few writes. */
const maxPiece = 512;

/** A transaction's writes to one table, in row and column order. The last write to a cell counts. */
export class OrderedWrites<W extends Position> {
  readonly #pieces: W[][] = [[]];

  set(write: W): void {
    const at = this.#pieceOf(write);
    const piece = this.#pieces[at]!;
    const place = firstAtOrAfter(piece, write);
    const isKnown = place < piece.length && comparePositions(piece[place]!, write) === 0;
    piece.splice(place, isKnown ? 1 : 0, write);
    if (piece.length > maxPiece) this.#pieces.splice(at + 1, 0, piece.splice(maxPiece / 2));
  }

  /** The writes from `from` (inclusive) to `to` (exclusive). Without `to`, all from `from` on. */
  between(from: Position, to: Position | undefined): readonly W[] {
    const found: W[] = [];
    let at = this.#pieceOf(from);
    let place = firstAtOrAfter(this.#pieces[at]!, from);
    for (; at < this.#pieces.length; at++, place = 0) {
      const piece = this.#pieces[at]!;
      for (; place < piece.length; place++) {
        if (to !== undefined && comparePositions(piece[place]!, to) >= 0) return found;
        found.push(piece[place]!);
      }
    }
    return found;
  }

  /** Index of the last piece that begins at or before a position. The first one, if none does. */
  #pieceOf(position: Position): number {
    let low = 0;
    let high = this.#pieces.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (comparePositions(this.#pieces[middle]![0]!, position) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function firstAtOrAfter(writes: readonly Position[], position: Position): number {
  let low = 0;
  let high = writes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePositions(writes[middle]!, position) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A position without a column is before all columns of its row. */
function comparePositions(a: Position, b: Position): number {
  return compareBytes(a.row, b.row) || compareBytes(a.column ?? noBytes, b.column ?? noBytes);
}

const noBytes = new Uint8Array(0);
