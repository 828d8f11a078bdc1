import {
  Client,
  credentials,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import type protobuf from "protobufjs";
import type { SeededRandom } from "../../../src/testing/world/index.js";
import { Failure, type Plain, protos } from "./service.js";

type Chunk = Plain & {
  readonly rowKey?: Uint8Array;
  readonly value?: Uint8Array;
  readonly commitRow?: boolean;
};

const data = protos.lookupService("google.bigtable.v2.Bigtable");
const services = [data, protos.lookupService("google.bigtable.admin.v2.BigtableTableAdmin")];

/**
 * A service that stores its tables in an emulator, but answers reads as Cloud Bigtable may, and the
 * emulator never does: with several rows in a message, values in pieces, rows that are discarded and
 * sent again, positions, broken streams, and in descending order.
 */
export class RegroupingService implements Disposable {
  readonly #server = new Server({ "grpc.max_receive_message_length": 256 << 20 });
  readonly #emulator: Client;
  readonly #random: SeededRandom;
  #host = "";

  private constructor(emulatorHost: string, random: SeededRandom) {
    const options = { "grpc.max_receive_message_length": 256 << 20 };
    this.#emulator = new Client(emulatorHost, credentials.createInsecure(), options);
    this.#random = random;
    for (const service of services) for (const method of service.methodsArray) this.#add(service, method);
  }

  static async start(emulatorHost: string, random: SeededRandom): Promise<RegroupingService> {
    const service = new RegroupingService(emulatorHost, random);
    const port = await new Promise<number>((resolve, reject) => {
      const bound = (error: Error | null, port: number) => (error === null ? resolve(port) : reject(error));
      service.#server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), bound);
    });
    service.#host = `127.0.0.1:${port}`;
    return service;
  }

  get host(): string {
    return this.#host;
  }

  [Symbol.dispose](): void {
    this.#server.forceShutdown();
    this.#emulator.close();
  }

  #add(service: protobuf.Service, { name, responseStream }: protobuf.Method): void {
    const path = `/${service.fullName.slice(1)}/${name}`;
    const definition: MethodDefinition<Buffer, Buffer> = {
      path,
      requestStream: false,
      responseStream: responseStream === true,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    const unary = (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
      this.#emulator.makeUnaryRequest(path, same, same, call.request, done);
    };
    const stream = async (call: ServerWritableStream<Buffer, Buffer>) => {
      try {
        const answers =
          name === "ReadRows" ? this.#readRows(path, call.request) : this.#ask(path, call.request);
        for await (const answer of answers) {
          if (call.cancelled) return;
          call.write(answer);
        }
        call.end();
      } catch (error) {
        call.emit("error", error);
      }
    };
    this.#server.addService({ [name]: definition }, { [name]: responseStream ? stream : unary });
  }

  async *#ask(path: string, request: Buffer): AsyncGenerator<Buffer> {
    yield* this.#emulator.makeServerStreamRequest(path, same, same, request);
  }

  async *#readRows(path: string, bytes: Buffer): AsyncGenerator<Buffer> {
    const [request, response] = typesOf("ReadRows");
    const { reversed, rowsLimit, ...wanted } = request.decode(bytes) as unknown as Plain;
    const asked = reversed === true ? Buffer.from(request.encode(wanted).finish()) : bytes;
    let rows: Chunk[][] = [[]];
    for await (const answer of this.#ask(path, asked)) {
      for (const chunk of (response.decode(answer) as unknown as { chunks: Chunk[] }).chunks) {
        rows.at(-1)!.push(chunk);
        if (chunk.commitRow === true) rows.push([]);
      }
    }
    rows.pop();
    if (reversed === true) rows = rows.reverse().slice(0, Number(rowsLimit) || undefined);
    for (const answer of this.#regrouped(rows)) yield Buffer.from(response.encode(answer).finish());
  }

  *#regrouped(rows: readonly (readonly Chunk[])[]): Generator<Plain> {
    const random = this.#random;
    const breaksAt = random.chance(0.05) ? random.below(rows.length + 1) : undefined;
    let chunks: Plain[] = [];
    for (const [index, row] of rows.entries()) {
      const sent = this.#sent(row);
      if (random.chance(0.1)) chunks.push(...this.#discarded(sent));
      for (const chunk of sent) {
        if (chunks.length > 0 && random.chance(0.05)) {
          yield { chunks };
          chunks = [];
        }
        if (index === breaksAt) throw new Failure(status.UNAVAILABLE);
        chunks.push(chunk);
      }
      const lastScannedRowKey = random.chance(0.1) ? keyBetween(row, rows[index + 1]) : undefined;
      if (lastScannedRowKey === undefined) continue;
      yield { chunks, lastScannedRowKey };
      chunks = [];
    }
    if (chunks.length > 0) yield { chunks };
  }

  /** The beginning of a row, and the chunk that discards it. */
  #discarded(sent: readonly Plain[]): readonly Plain[] {
    const count = this.#random.below(sent.length);
    return count === 0 ? [] : [...sent.slice(0, count), { resetRow: true }];
  }

  /** The chunks of a row without what the chunk before says, and with values in pieces. */
  #sent(row: readonly Chunk[]): readonly Plain[] {
    const sent: Plain[] = [];
    let before: Chunk | undefined;
    for (const { rowKey, familyName, qualifier, value = new Uint8Array(0), ...more } of row) {
      const isFamily = JSON.stringify(familyName) !== JSON.stringify(before?.familyName);
      const isColumn = isFamily || JSON.stringify(qualifier) !== JSON.stringify(before?.qualifier);
      before = { familyName, qualifier } as Chunk;
      const cell = {
        ...more,
        ...(sent.length === 0 ? { rowKey } : {}),
        ...(isFamily ? { familyName } : {}),
        ...(isColumn ? { qualifier } : {}),
      };
      if (value.length < 2 || !this.#random.chance(0.1)) {
        sent.push({ ...cell, value });
        continue;
      }
      const at = 1 + this.#random.below(value.length - 1);
      sent.push({ ...cell, value: value.subarray(0, at), valueSize: value.length, commitRow: undefined });
      sent.push({ value: value.subarray(at), commitRow: more.commitRow });
    }
    return sent;
  }
}

/** A key between those of two rows that follow each other in either direction, if there is one. */
function keyBetween([row]: readonly Chunk[], next: readonly Chunk[] | undefined): Buffer | undefined {
  if (next === undefined) return undefined;
  const [low, high] = [row!.rowKey!, next[0]!.rowKey!].sort(Buffer.compare);
  const key = Buffer.concat([low!, Buffer.from([0])]);
  return key.compare(high!) < 0 ? key : undefined;
}

function typesOf(name: string): readonly [request: protobuf.Type, response: protobuf.Type] {
  const { resolvedRequestType, resolvedResponseType } = data.methods[name]!;
  return [resolvedRequestType!, resolvedResponseType!];
}

function same(bytes: Buffer): Buffer {
  return bytes;
}
