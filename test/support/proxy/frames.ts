/** A protocol whose calls the proxy can tell apart, each without TLS. */
export type Protocol = "http2" | "postgres";

/** How frames follow each other in one direction of a connection. */
interface Framing {
  /** Bytes before the first frame. */
  readonly prefaceBytes: number;
  readonly headerBytes: number;
  /** Reads the header of the next frame. */
  read(header: Buffer): { readonly bodyBytes: number; readonly isOfCall: boolean };
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".length;
const [data, headers] = [0, 1];

function http2(isClients: boolean): Framing {
  return {
    // Only the client's direction begins with the preface.
    prefaceBytes: isClients ? preface : 0,
    headerBytes: 9,
    read: (header) => ({
      bodyBytes: header.readUIntBE(0, 3),
      isOfCall: header[3] === data || header[3] === headers,
    }),
  };
}

/** The messages of a client that begin a query: Query, Parse and Bind. */
const queries: ReadonlySet<number> = new Set(Buffer.from("QPB"));
/** The server's message after each query, when its transaction has ended: ReadyForQuery. */
const ready = "Z".charCodeAt(0);

function postgres(isClients: boolean): Framing {
  let isStarted = false;
  return {
    prefaceBytes: 0,
    headerBytes: 5,
    read(header) {
      const type = header[0]!;
      // The client's first message has no type, and begins with its length.
      if (isClients && type === 0) return { bodyBytes: header.readInt32BE(0) - 5, isOfCall: false };
      const bodyBytes = header.readInt32BE(1) - 4;
      if (isClients) return { bodyBytes, isOfCall: queries.has(type) };
      // The server is ready for the first time when the client has logged in.
      const isOfCall = type === ready && isStarted;
      if (type === ready) isStarted = true;
      return { bodyBytes, isOfCall };
    },
  };
}

const framings = { http2, postgres };

/**
 * Follows the frames of one direction of a connection, to find those that are part of a call: on
 * HTTP/2, of a request or its answer; on PostgreSQL, the beginning of a query, and the end of its
 * answer.
 */
export class Frames {
  readonly #framing: Framing;
  /** Bytes until the next frame begins. */
  #left: number;
  #header = Buffer.alloc(0);

  constructor(protocol: Protocol, isClients: boolean) {
    this.#framing = framings[protocol](isClients);
    this.#left = this.#framing.prefaceBytes;
  }

  /**
   * Returns where in `chunk`, the next bytes, the first frame of a call begins. Undefined if there
   * is none.
   */
  take(chunk: Buffer): number | undefined {
    const { headerBytes } = this.#framing;
    let found: number | undefined;
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, chunk.length - at);
        this.#left -= skipped;
        at += skipped;
        continue;
      }
      const begins = Math.max(0, at - this.#header.length);
      const part = chunk.subarray(at, at + headerBytes - this.#header.length);
      this.#header = Buffer.concat([this.#header, part]);
      at += part.length;
      if (this.#header.length < headerBytes) break;
      const { bodyBytes, isOfCall } = this.#framing.read(this.#header);
      this.#left = bodyBytes;
      this.#header = Buffer.alloc(0);
      if (isOfCall) found ??= begins;
    }
    return found;
  }
}
