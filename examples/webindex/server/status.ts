/** What the server tells of the index. */
export interface Status {
  /** Pages that can be found. */
  readonly pages: number;
  /** What is being loaded, in words; `undefined` if nothing is. */
  readonly loading: string | undefined;
  /** Changes that observers are still to work on, as far as they were counted. */
  readonly waiting: number;
}
