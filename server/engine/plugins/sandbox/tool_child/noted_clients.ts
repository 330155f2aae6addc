import { createRequire } from 'node:module';
import { noter } from './note.ts';
import type { Answer, Note } from './note.ts';
import { noteAws } from './noted_aws.ts';
import type { Seen } from './way_out.ts';

const shown_length_max = 40_000;

type KafkaMessage = { key?: string; value: string; headers?: object; partition?: number };
type Topic = { topic: string; messages: KafkaMessage[] };
type KafkaRequest = { payload: { apiName: string; broker: string } };
type Producer = {
  connect(): Promise<void>;
  send(topic: Topic): Promise<unknown>;
  on(event: string, heard: (request: KafkaRequest) => void): void;
  events: { REQUEST: string; REQUEST_TIMEOUT: string };
};
type KafkaOptions = { brokers: string[] };
type Kafka = new (options: KafkaOptions) => { producer(options: object): Producer };

type SshPlace = { host: string; port: number };
/** Writes a part of a file of this many bytes. */
type WritePart = (
  handle: Buffer,
  file: Buffer,
  from: number,
  size_bytes: number,
  at: number,
  heard: (error?: Error, ...rest: unknown[]) => void,
) => unknown;
type SftpChannel = { write: WritePart };
type Sftp = new (...given: unknown[]) => {
  connect(place: SshPlace): Promise<SftpChannel>;
  put(file: Buffer, path: string, options?: object): Promise<unknown>;
  fastPutFromBuffer(file: Buffer, path: string, options?: object): Promise<unknown>;
};

const noted_directories = new Set<string>();

/**
 * Records what the clients of Kafka, SFTP and AWS send, which do not use the library's `fetch`: the
 * address, and the other side's answer. Instances of a destination share its client.
 */
export function noteClients(
  require: NodeJS.Require,
  directory: string,
  seenNow: () => Seen | undefined,
): void {
  if (noted_directories.has(directory)) return;
  noted_directories.add(directory);
  const note = noter(seenNow);
  const path = `./dist/destinations/${directory}`;
  const library = createRequire(require.resolve(path));
  if (directory === 'kafka') {
    const clients = library('kafkajs') as { Kafka: Kafka };
    clients.Kafka = notedKafka(clients.Kafka, note);
  }
  if (directory === 'sftp') {
    const client = require(`${path}/sftp-wrapper`) as { SFTPWrapper: Sftp };
    client.SFTPWrapper = notedSftp(client.SFTPWrapper, note);
  }
  noteAws(library, directory, note);
}

/** Returns an answer of a client with another protocol than HTTP. */
function answerOf(value: unknown): Answer {
  return { status: null, headers: [], body: Buffer.from(JSON.stringify(value)) };
}

/** Shows a failed connect, because no request follows it. */
async function connected<Result>(
  note: Note,
  url: string,
  connect: () => Promise<Result>,
): Promise<Result> {
  try {
    return await connect();
  } catch (error) {
    const failed = { method: 'CONNECT', url: () => url, body: Buffer.alloc(0) };
    return note(failed, () => Promise.reject(error as Error), answerOf);
  }
}

function notedKafka(Library: Kafka, note: Note): Kafka {
  return class extends Library {
    #brokers: string[];

    constructor(options: KafkaOptions) {
      super(options);
      this.#brokers = options.brokers;
    }

    override producer(options: object): Producer {
      const producer = super.producer(options);
      const all = this.#brokers.join(',');
      const asked = new Set<string>();
      const { REQUEST, REQUEST_TIMEOUT } = producer.events;
      for (const event of [REQUEST, REQUEST_TIMEOUT])
        producer.on(event, ({ payload: { apiName, broker } }) => {
          if (apiName === 'Produce') asked.add(broker);
        });
      return {
        ...producer,
        connect: () => connected(note, `kafka://${all}/`, () => producer.connect()),
        send: (topic) => {
          asked.clear();
          const url = () => `kafka://${[...asked].join(',') || all}/${topic.topic}`;
          const sent = { method: 'PRODUCE', url, ...messagesOf(topic) };
          return note(sent, () => producer.send(topic), answerOf);
        },
      };
    }
  };
}

/** Returns the messages, one per line; of many, the first ones. */
function messagesOf({ messages }: Topic): { body: Buffer; size_bytes: number } {
  let text = '';
  let size_bytes = 0;
  for (const { key, value, headers, partition } of messages) {
    size_bytes += Buffer.byteLength(value) + Buffer.byteLength(key ?? '');
    if (text.length < shown_length_max)
      text += `${JSON.stringify({ key, headers, partition, value })}\n`;
  }
  return { body: Buffer.from(text), size_bytes };
}

function notedSftp(Library: Sftp, note: Note): Sftp {
  return class extends Library {
    #host = '';
    #written = 0;
    #fault: Error | undefined;

    override async connect(place: SshPlace): Promise<SftpChannel> {
      this.#host = `sftp://${place.host}:${place.port}`;
      const channel = await connected(note, `${this.#host}/`, () => super.connect(place));
      const write = channel.write.bind(channel);
      channel.write = (handle, file, from, size_bytes, at, heard) =>
        write(handle, file, from, size_bytes, at, (error, ...rest) => {
          if (error) this.#fault ??= error;
          else this.#written += size_bytes;
          heard(error, ...rest);
        });
      return channel;
    }

    override put(file: Buffer, path: string, options?: object): Promise<unknown> {
      return this.#noted(file, path, () => super.put(file, path, options));
    }

    override fastPutFromBuffer(file: Buffer, path: string, options?: object): Promise<unknown> {
      return this.#noted(file, path, () => super.fastPutFromBuffer(file, path, options));
    }

    /** The library's client ignores a part that the server refuses because of full storage. */
    #noted(file: Buffer, path: string, put: () => Promise<unknown>): Promise<unknown> {
      const work = async () => {
        const ended = await put();
        if (this.#fault !== undefined) throw this.#fault;
        return ended;
      };
      const url = () => `${this.#host}${path.startsWith('/') ? '' : '/'}${path}`;
      const answer = () => answerOf({ bytes_written: this.#written });
      return note({ method: 'PUT', url, body: file }, work, answer);
    }
  };
}
