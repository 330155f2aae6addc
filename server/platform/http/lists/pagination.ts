import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { Queryable } from '../../postgres/database.ts';
import { nullable } from '../../nullable.ts';
import { fittingRows } from './fitting_rows.ts';
import { query } from './query.ts';

const default_limit = 100;
const limit_max = 1000;

/** The query parameter that says how long a page of any list is; `limitOf` reads it. */
export const Limit = Type.Optional(
  Type.Integer({
    minimum: 1,
    description:
      `Number of results per page; default ${default_limit}, more than ${limit_max} is served ` +
      `as ${limit_max}.`,
  }),
);

/** The length of the page that is served. */
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

/** The part of a list that is asked for. */
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

/** The name that a list of the resource has in the OpenAPI document. */
export function listTitle(item: TSchema): { title?: string } {
  const { title } = item as { title?: string };
  return title === undefined ? {} : { title: `${title}List` };
}

/** The schema of an offset list of some resource. */
export function pageOf<Schema extends TSchema>(item: Schema) {
  return Type.Object(
    {
      count: Type.Integer({ description: 'Number of all results.' }),
      next: link('The next page; null on the last.'),
      previous: link('The page before; null on the first.'),
      results: Type.Array(item),
    },
    listTitle(item),
  );
}

/**
 * The page that a request asks for. Throws 400 for a limit or offset that is not a whole number in
 * range.
 */
export function pageAsked(request: FastifyRequest): Page {
  const { limit, offset = 0 } = query(request, PageQuery);
  return { limit: limitOf(limit), offset };
}

/**
 * Answers an offset list. Guarantee: the count is asked for only where the page itself does not
 * tell it, so a short list is one round trip. `page` is what the request asks for, unless the list
 * has limits of its own. A page of very long records is shorter, and `next` goes on behind it.
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

/** The envelope around rows that were found otherwise, at most `served` of them. */
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
 * The absolute URL of this request with some query parameters replaced (undefined removes one) and
 * the others kept.
 */
export function linkTo(
  request: FastifyRequest,
  changes: Record<string, string | number | undefined>,
): string {
  // A request line may hold a whole URL; only its path and query are ours.
  const path = request.url.replace(/^[a-z]+:\/\/[^/]*/i, '');
  const url = new URL(`${request.server.context.config.public_url}${path}`);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  return url.href;
}
