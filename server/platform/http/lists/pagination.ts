import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { Queryable } from '../../postgres/database.ts';
import { nullable } from '../../nullable.ts';
import { whole } from '../schemas.ts';
import { fittingRows } from './fitting_rows.ts';
import { query } from './query.ts';

const default_limit = 100;
const limit_max = 1000;

/** The query parameter for the page length of any list; `limitOf` reads it. */
export const Limit = Type.Optional(
  Type.Integer({
    minimum: 1,
    description:
      `Number of results per page; default ${default_limit}, more than ${limit_max} is served ` +
      `as ${limit_max}.`,
  }),
);

/** Returns the served page length. */
export function limitOf(asked: number = default_limit): number {
  return Math.min(asked, limit_max);
}

/** The query parameters of every offset list. */
export const PageQuery = Type.Object({
  limit: Limit,
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Number of results to skip; default 0.',
    }),
  ),
});

/** The requested part of a list. */
export type Page = { limit: number; offset: number };

/**
 * The statements of an offset list: a page of its rows in a stable order, without its LIMIT, and
 * the total as `count`.
 */
export type List = { rows: (page: Page) => Sql; count: Sql };

/** The list of the rows of `from`: a table with its joins and conditions. */
export function listOf(columns: Sql, from: Sql, order: Sql): List {
  return {
    rows: ({ limit, offset }) =>
      sql`SELECT ${columns} FROM ${from} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`,
    count: sql`SELECT count(*) AS count FROM ${from}`,
  };
}

const link = (description: string) => nullable(Type.String({ format: 'uri', description }));

/** Returns the name of a resource's list in the OpenAPI document. */
export function listTitle(item: TSchema): { title?: string } {
  const { title } = item as { title?: string };
  return title === undefined ? {} : { title: `${title}List` };
}

/** Returns the schema of an offset list of a resource. */
export function pageOf<Schema extends TSchema>(item: Schema) {
  return Type.Object(
    {
      count: whole('Number of all results.'),
      next: link('The next page; null on the last.'),
      previous: link('The page before; null on the first.'),
      results: Type.Array(item),
    },
    listTitle(item),
  );
}

/**
 * Returns the requested page. Throws 400 for a limit or offset that is not a whole number in range.
 */
export function pageAsked(request: FastifyRequest): Page {
  const { limit, offset = 0 } = query(request, PageQuery);
  return { limit: limitOf(limit), offset };
}

/**
 * Answers an offset list. Guarantee: the total is only queried if the page does not show it, so a
 * short list is one round trip. `page` is the requested page by default; a list may have its own
 * limits. A page of very long records is shorter, and `next` continues after it.
 */
export async function answerPage<Row>(
  request: FastifyRequest,
  db: Queryable,
  { rows, count }: List,
  page = pageAsked(request),
) {
  const limit = await fittingRows(db, rows(page), page.limit);
  const results = await db.rows<Row>(rows({ ...page, limit }));
  const told = results.length < limit && (results.length > 0 || page.offset === 0);
  const total = told
    ? page.offset + results.length
    : ((await db.row<{ count: number }>(count))?.count ?? 0);
  return pageAnswer(request, page, total, results, limit);
}

/** Returns the envelope around rows from another source, at most `served` of them. */
export function pageAnswer<Row>(
  request: FastifyRequest,
  page: Page,
  count: number,
  results: Row[],
  served = page.limit,
) {
  const { limit, offset } = page;
  const next = offset + served < count ? linkTo(request, { limit, offset: offset + served }) : null;
  const previous =
    offset > 0 ? linkTo(request, { limit, offset: Math.max(0, offset - limit) }) : null;
  return { count, next, previous, results };
}

/**
 * Returns the absolute URL of this request with some query parameters replaced (undefined removes
 * one).
 */
export function linkTo(
  request: FastifyRequest,
  changes: Record<string, string | number | undefined>,
): string {
  // A request line may contain a whole URL; only its path and query are ours.
  const path = request.url.replace(/^[a-z]+:\/\/[^/]*/i, '');
  const url = new URL(`${request.server.context.config.public_url}${path}`);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  return url.href;
}
