import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest, preSerializationHookHandler } from 'fastify';
import { openTurns } from '../../pacing/turns.ts';

/** Up to this many characters, an answer is one text with a length. */
const text_length_max = 256 * 1024;

/**
 * A property of a record that is already JSON. An answer with `results` contains it unchanged, any
 * other answer its value.
 */
export class JsonText {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  toJSON(): unknown {
    return JSON.parse(this.#text);
  }
}

/**
 * Creates the JSON of an answer with `results` record by record: a page of a thousand may have a
 * gigabyte. A long one is sent in pieces as they are created, with yields to the event loop in
 * between. Every other answer stays unchanged.
 */
export const answerInPieces: preSerializationHookHandler = (
  _request: FastifyRequest,
  reply: FastifyReply,
  payload,
  done,
) => {
  if (!hasResults(payload)) return done(null, payload);
  const parts = partsOf(payload);
  const text = nextPiece(parts);
  reply.serializer((written: unknown) => written as string);
  done(null, text.length < text_length_max ? text : Readable.from(rest(text, parts)));
};

type List = { results: unknown[] };

function hasResults(payload: unknown): payload is List {
  return (
    typeof payload === 'object' && payload !== null && Array.isArray((payload as List).results)
  );
}

/** Yields the JSON of the object, one record of its results at a time. */
function* partsOf(list: List): Generator<string> {
  let before = '{';
  for (const [name, value] of Object.entries(list)) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    if (name !== 'results') {
      yield JSON.stringify(value);
      continue;
    }
    for (const [index, record] of list.results.entries())
      yield `${index === 0 ? '[' : ','}${jsonOf(record)}`;
    yield list.results.length === 0 ? '[]' : ']';
  }
  yield '}';
}

function jsonOf(record: unknown): string {
  if (typeof record !== 'object' || record === null) return JSON.stringify(record);
  if (!Object.values(record).some((value) => value instanceof JsonText))
    return JSON.stringify(record);
  let text = '{';
  for (const [name, value] of Object.entries(record)) {
    if (value === undefined) continue;
    const json = value instanceof JsonText ? value.toString() : JSON.stringify(value);
    text += `${text === '{' ? '' : ','}${JSON.stringify(name)}:${json}`;
  }
  return `${text}}`;
}

/** Joins parts until they fill a piece; the last piece may be shorter. */
function nextPiece(parts: Generator<string>): string {
  let text = '';
  while (text.length < text_length_max) {
    const { done, value } = parts.next();
    if (done === true) break;
    text += value;
  }
  return text;
}

async function* rest(first: string, parts: Generator<string>): AsyncGenerator<Buffer> {
  const turn = openTurns();
  for (let text = first; text !== ''; text = nextPiece(parts)) {
    yield Buffer.from(text);
    const pause = turn();
    if (pause !== undefined) await pause;
  }
}
