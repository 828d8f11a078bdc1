/** What the server reports about the index. */
export interface Status {
  /** Pages that can be found. */
  readonly pages: number;
  /** A description of the current load. `undefined` if none is running. */
  readonly loading: string | undefined;
  /** Changes that observers must still handle, up to the limit of counting. */
  readonly waiting: number;
}
