import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { isoInstant } from '../../clock.ts';
import { takesJson } from '../caller/guard.ts';
import { mayGoOn } from '../confirm_access.ts';
import { invalid } from '../errors.ts';
import type { Keyset } from './cursor.ts';

/** The media type of a file with one JSON object on each line. */
export const lines_type = 'application/x-ndjson';
const read_at_once = 500;

/** The query parameter of a list that can be a file. */
export const FormatQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(['json', 'ndjson'], {
      description:
        '`ndjson` answers every entry that fits as a file, one JSON object on each line.',
    }),
  ),
});

/** The OpenAPI text of a route that can return a file. */
export const lines_description =
  `With \`format=ndjson\`, or an \`Accept\` that takes \`${lines_type}\` and no JSON, the answer ` +
  `is a file with every matching entry, one JSON object on each line, without \`cursor\` and ` +
  `\`limit\`.`;

/**
 * Returns true if the request asks for a file instead of a page. Throws 400 for a page of a file.
 */
export function asksForLines(
  request: FastifyRequest,
  asked: {
    format?: 'json' | 'ndjson' | undefined;
    cursor?: string | undefined;
    limit?: number | undefined;
  },
): boolean {
  const { format, cursor, limit } = asked;
  if (format === undefined ? takesJson(request.headers.accept) : format === 'json') return false;
  if (cursor !== undefined || limit !== undefined)
    throw invalid(
      cursor === undefined ? 'limit' : 'cursor',
      'invalid_input',
      'A file has every matching entry: leave this out, or ask for format=json.',
    );
  return true;
}

/** A file of entries: its name, the reader of its pages, and its organization. */
type Lines<Row> = {
  name: string;
  organization_id: string | null;
  read(keyset: Keyset): Promise<Row[]>;
};

/**
 * Returns every matching entry as a file with one JSON object on each line. Reads as fast as the
 * client accepts data, in batches, so memory does not grow. If it begins with the newest entry,
 * later entries are not included. If it breaks off, because a store fails or the caller loses the
 * right to read, the connection is cut instead of ended.
 */
export function answerLines<Row extends { id: string; number: number }>(
  request: FastifyRequest,
  reply: FastifyReply,
  keyset: Keyset,
  lines: Lines<Row>,
): FastifyReply {
  const { clock } = request.server.context;
  const name = `${lines.name}-${isoInstant(clock.now()).slice(0, 10)}.ndjson`;
  const portions = request.method === 'HEAD' ? [] : texts(request, keyset, lines);
  return reply
    .type(lines_type)
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(Readable.from(portions, { objectMode: false }));
}

async function* texts<Row extends { id: string; number: number }>(
  request: FastifyRequest,
  asked: Keyset,
  { name, organization_id, read }: Lines<Row>,
): AsyncGenerator<string> {
  const { log } = request.server.context;
  let keyset: Keyset = { ...asked, from: undefined, backwards: false, limit: read_at_once };
  try {
    for (;;) {
      const rows = await read(keyset);
      if (rows.length > 0) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('');
      const last = rows.at(-1);
      if (last === undefined || rows.length <= read_at_once) return;
      keyset = { ...keyset, from: { value: last.number, id: last.id } };
      // The client may pause between two batches.
      if (!(await mayGoOn(request, organization_id)))
        throw new Error('The caller may no longer read this log.');
    }
  } catch (error) {
    log.warn({ err: error, request_id: request.id, file: name }, 'a file broke off');
    throw error;
  }
}
