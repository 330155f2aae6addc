import type { FastifyRequest } from 'fastify';
import sql, { empty, raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { isUuid } from '../../uuid.ts';
import { invalid } from '../errors.ts';
import { nullable } from '../../nullable.ts';
import { Limit, limitOf, linkTo, listTitle } from './pagination.ts';
import { query } from './query.ts';
import { isInstant } from '../../instant.ts';
import { parseJson } from '../../json/parse_json.ts';

/** One page of a keyset: its order, its start and its direction. */
export type Keyset = {
  column: string;
  type: KeysetType;
  descending: boolean;
  backwards: boolean;
  from: { value: string | number; id: string } | undefined;
  limit: number;
};

/** Types of the columns that order a list. */
export type KeysetType = 'timestamptz' | 'bigint';

/** Returns the query parameters of a cursor list that can be ordered by these columns. */
export function cursorQuery(columns: readonly string[]) {
  return Type.Object({
    cursor: Type.Optional(
      Type.String({ description: 'Start of the page: a value from `next` or `previous`.' }),
    ),
    ordering: Type.Optional(
      Type.Enum(
        columns.flatMap((column) => [column, `-${column}`]),
        { description: 'Field to order by; "-" before it for the newest first.' },
      ),
    ),
    limit: Limit,
  });
}

/** Returns the schema of a cursor list of a resource. */
export function cursorPageOf<Schema extends TSchema>(item: Schema) {
  return Type.Object(
    {
      next: nullable(
        Type.String({ format: 'uri', description: 'The next page; null on the last.' }),
      ),
      previous: nullable(
        Type.String({ format: 'uri', description: 'The page before; null on the first.' }),
      ),
      results: Type.Array(item),
    },
    listTitle(item),
  );
}

/**
 * Returns the requested page, in the requested order or by the first column, newest first. Throws
 * 400 for an invalid cursor or an unknown order.
 */
export function keysetAsked(
  request: FastifyRequest,
  columns: readonly string[],
  type: KeysetType = 'timestamptz',
): Keyset {
  const asked = query(request, cursorQuery(columns));
  const ordering = asked.ordering ?? `-${columns[0]}`;
  const descending = ordering.startsWith('-');
  const position =
    asked.cursor === undefined ? undefined : readCursor(asked.cursor, ordering, type);
  return {
    column: descending ? ordering.slice(1) : ordering,
    type,
    descending,
    backwards: position?.backwards ?? false,
    from: position,
    limit: limitOf(asked.limit),
  };
}

/**
 * Returns the condition that a row comes after the cursor, for use after WHERE ... AND; true
 * without a cursor. Uses an index over (column, id).
 */
export function keysetCondition(keyset: Keyset): Sql {
  if (keyset.from === undefined) return sql`true`;
  const before = keyset.descending !== keyset.backwards;
  return sql`(${columnSql(keyset)}, id) ${before ? sql`<` : sql`>`}
    (${keyset.from.value}::${raw(keyset.type)}, ${keyset.from.id}::uuid)`;
}

/**
 * Returns ORDER BY and LIMIT of the page, with one row more than the page, which shows whether
 * another page exists.
 */
export function keysetOrder(keyset: Keyset): Sql {
  const direction = keyset.descending !== keyset.backwards ? sql`DESC` : empty;
  return sql`ORDER BY ${columnSql(keyset)} ${direction}, id ${direction} LIMIT ${keyset.limit + 1}`;
}

/**
 * Returns the envelope around the rows of the statement with `keysetOrder`. Rows inserted meanwhile
 * do not shift later pages.
 */
export function answerKeyset<Row extends { id: string }>(
  request: FastifyRequest,
  keyset: Keyset,
  found: Row[],
) {
  const hasMore = found.length > keyset.limit;
  const results = found.slice(0, keyset.limit);
  if (keyset.backwards) results.reverse();
  const link = (row: Row | undefined, backwards: boolean) =>
    row === undefined ? null : linkTo(request, { cursor: writeCursor(keyset, row, backwards) });
  return {
    next: keyset.backwards || hasMore ? link(results.at(-1), false) : null,
    previous: (keyset.backwards ? hasMore : keyset.from !== undefined)
      ? link(results[0], true)
      : null,
    results,
  };
}

function columnSql(keyset: Keyset): Sql {
  return raw(`"${keyset.column}"`);
}

function writeCursor(keyset: Keyset, row: { id: string }, backwards: boolean): string {
  const value = (row as Record<string, unknown>)[keyset.column];
  return Buffer.from(
    JSON.stringify([`${keyset.descending ? '-' : ''}${keyset.column}`, value, row.id, backwards]),
  ).toString('base64url');
}

function readCursor(
  text: string,
  ordering: string,
  type: KeysetType,
): { value: string | number; id: string; backwards: boolean } {
  const broken = invalid(
    'cursor',
    'invalid_input',
    'This cursor is broken or belongs to another order: start again without it.',
  );
  // A decodable text that is not in canonical form was changed or cut.
  if (Buffer.from(text, 'base64url').toString('base64url') !== text) throw broken;
  const parts = parseJson(Buffer.from(text, 'base64url').toString());
  if (!Array.isArray(parts) || parts.length !== 4) throw broken;
  const [order, value, id, backwards] = parts as unknown[];
  if (
    order !== ordering ||
    !isKeyOf(type, value) ||
    typeof id !== 'string' ||
    !isUuid(id) ||
    typeof backwards !== 'boolean'
  )
    throw broken;
  return { value, id, backwards };
}

function isKeyOf(type: KeysetType, value: unknown): value is string | number {
  return type === 'bigint'
    ? Number.isSafeInteger(value)
    : typeof value === 'string' && isInstant(value);
}
