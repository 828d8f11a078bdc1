/** A set of page numbers, with a bit for each page of a file. A `Set` holds at most 2^24 numbers. */
export class PageSet {
  readonly #bits: Uint8Array;

  /** `pageCount`: number of pages of the file. Later pages are never in the set. */
  constructor(pageCount: number) {
    this.#bits = new Uint8Array(Math.ceil(pageCount / 8));
  }

  has(page: number): boolean {
    return (this.#bits[Math.floor(page / 8)]! & (1 << (page & 7))) !== 0;
  }

  add(page: number): void {
    this.#bits[Math.floor(page / 8)]! |= 1 << (page & 7);
  }
}
