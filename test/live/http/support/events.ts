/** A block of a response's stream: an event, or a comment. */
export interface Block {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string | undefined;
  readonly comment: string | undefined;
}

function blockOf(text: string): Block {
  const fields = new Map<string, string>();
  for (const line of text.split("\n")) {
    const at = line.indexOf(":");
    fields.set(line.slice(0, at), line.slice(at + 1).replace(/^ /, ""));
  }
  return {
    event: fields.get("event") ?? "message",
    id: fields.get("id"),
    data: fields.get("data"),
    comment: fields.get(""),
  };
}

/** Reads a response block by block. Leaves out the time for reconnecting. */
export class Blocks {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(response: Response) {
    this.#reader = response.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  }

  /** The next event. Undefined at the end. */
  async next(): Promise<Block | undefined> {
    for (;;) {
      const block = await this.block();
      if (block?.comment === undefined) return block;
    }
  }

  /** The next event or comment. Undefined at the end. */
  async block(): Promise<Block | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        if (!block.startsWith("retry:")) return blockOf(block);
        continue;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** The JSON of the next event. Fails at the end. */
  async data(): Promise<unknown> {
    const block = await this.next();
    return JSON.parse(block!.data!);
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}
