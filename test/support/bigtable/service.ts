import { fileURLToPath } from "node:url";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import protobuf from "protobufjs";

const here = (name: string) =>
  fileURLToPath(new URL(`../../../src/store/bigtable/protos/${name}`, import.meta.url));

/**
 * The official messages, read by a library that parses .proto files itself: a codec independent of
 * the store's.
 */
export const protos = new protobuf.Root();
protos.resolvePath = (_, path) => (path.startsWith("google/") ? path : here(path));
protos.loadSync(["bigtable.proto", "admin.proto"]).resolveAll();

/** A message as plain data. */
export type Plain = Record<string, unknown>;

/**
 * How a service handles a call. It returns one or several answers, fails by throwing `{ code }`, or
 * never settles.
 */
export type Handler = (request: Plain, call: Call) => AsyncIterable<Plain> | Promise<Plain> | Plain;

export interface Call {
  readonly metadata: Metadata;
  /** Count of earlier calls of the method. */
  readonly index: number;
  /** Sends headers before anything else. */
  sendHeaders(headers: Readonly<Record<string, string>>): void;
  /** Whether the client has cancelled the call. */
  cancelled(): boolean;
}

export type Trailers = Readonly<Record<string, string | Buffer>>;

function metadataOf(entries: Trailers): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value);
  return metadata;
}

/** Returns the trailers by which a service says how long to wait before a retry. */
export function retryAfter(retryDelay: { readonly seconds?: number; readonly nanos?: number }): Trailers {
  const info = protos.lookupType("google.rpc.RetryInfo");
  const status = protos.lookupType("google.rpc.Status");
  const encode = (type: protobuf.Type, plain: Plain) =>
    Buffer.from(type.encode(type.fromObject(plain)).finish());
  const details = [
    { typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value: Buffer.from("other") },
    { typeUrl: "type.googleapis.com/google.rpc.RetryInfo", value: encode(info, { retryDelay }) },
  ];
  return { "grpc-status-details-bin": encode(status, { code: 14, details }) };
}

/** A failure with a gRPC status. */
export class Failure extends Error {
  readonly code: status;
  /** Its trailers. */
  readonly metadata: Metadata;

  constructor(code: status, message = status[code], trailers: Trailers = {}) {
    super(message);
    this.code = code;
    this.metadata = metadataOf(trailers);
  }
}

/**
 * A service whose methods a test implements. All others answer UNIMPLEMENTED. It counts the calls.
 */
export class TestService {
  readonly calls: { readonly method: string; readonly request: Plain; readonly metadata: Metadata }[] = [];
  readonly handlers: Record<string, Handler>;
  readonly #server = new Server();
  #host = "";

  private constructor(handlers: Record<string, Handler>) {
    this.handlers = handlers;
    for (const name of [
      "google.bigtable.v2.Bigtable",
      "google.bigtable.admin.v2.BigtableTableAdmin",
      "google.bigtable.admin.v2.BigtableInstanceAdmin",
    ]) {
      this.#add(protos.lookupService(name));
    }
  }

  static async start(handlers: Record<string, Handler>): Promise<TestService> {
    const service = new TestService({ GetTable: () => usableTable, ...handlers });
    await new Promise<void>((resolve, reject) => {
      service.#server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
        service.#host = `127.0.0.1:${port}`;
        if (error === null) resolve();
        else reject(error);
      });
    });
    return service;
  }

  get host(): string {
    return this.#host;
  }

  count(method: string): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  [Symbol.dispose](): void {
    this.#server.forceShutdown();
  }

  #add(service: protobuf.Service): void {
    for (const method of service.methodsArray) {
      const [request, response] = [method.resolvedRequestType!, method.resolvedResponseType!];
      const path = `/${service.fullName.slice(1)}/${method.name}`;
      const definition = {
        path,
        requestStream: false,
        responseStream: method.responseStream === true,
        requestDeserialize: (bytes: Buffer) => request.toObject(request.decode(bytes), { longs: Number }),
        requestSerialize: (message: Plain) =>
          Buffer.from(request.encode(request.fromObject(message)).finish()),
        responseSerialize: (message: Plain) =>
          Buffer.from(response.encode(response.fromObject(message)).finish()),
        responseDeserialize: (bytes: Buffer) => response.toObject(response.decode(bytes)),
      };
      const handler = method.responseStream
        ? (call: ServerWritableStream<Plain, Plain>) => void this.#stream(method.name, call)
        : (call: ServerUnaryCall<Plain, Plain>, done: sendUnaryData<Plain>) =>
            void this.#unary(method.name, call, done);
      this.#server.addService({ [method.name]: definition }, { [method.name]: handler });
    }
  }

  #note(method: string, call: ServerUnaryCall<Plain, Plain> | ServerWritableStream<Plain, Plain>) {
    const index = this.count(method);
    this.calls.push({ method, request: call.request, metadata: call.metadata });
    const handler = this.handlers[method];
    if (handler === undefined) throw new Failure(status.UNIMPLEMENTED);
    return handler(call.request, {
      metadata: call.metadata,
      index,
      sendHeaders: (headers) => call.sendMetadata(metadataOf(headers)),
      cancelled: () => call.cancelled,
    });
  }

  async #unary(
    method: string,
    call: ServerUnaryCall<Plain, Plain>,
    done: sendUnaryData<Plain>,
  ): Promise<void> {
    try {
      done(null, (await this.#note(method, call)) as Plain);
    } catch (error) {
      done(error as Failure);
    }
  }

  async #stream(method: string, call: ServerWritableStream<Plain, Plain>): Promise<void> {
    try {
      for await (const message of (await this.#note(method, call)) as AsyncIterable<Plain>)
        call.write(message);
      call.end();
    } catch (error) {
      call.emit("error", error);
    }
  }
}

/** The answer of GetTable for a usable table. */
export const usableTable: Plain = {
  columnFamilies: { lock: {}, write: {}, data: {}, txn: {} },
  granularity: 1,
};

/** Yields the messages as a stream. */
export async function* answers(...messages: readonly Plain[]): AsyncGenerator<Plain> {
  yield* messages;
}

/** A row of one cell, as ReadRows returns it. */
export function rowChunk(row: string, value: string, more: Plain = {}): Plain {
  return {
    rowKey: Buffer.from(row),
    familyName: { value: "write" },
    qualifier: { value: Buffer.from("c") },
    timestampMicros: 1_000,
    value: Buffer.from(value),
    commitRow: true,
    ...more,
  };
}

/** Returns a promise that never settles. */
export function never(): Promise<Plain> {
  return new Promise(() => undefined);
}
