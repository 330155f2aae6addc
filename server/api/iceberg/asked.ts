import type { FastifyRequest } from 'fastify';
import { badRequest } from '../../engine/model/lake_catalog/refusal.ts';
import { noNamespace } from '../../engine/model/lake_catalog/namespaces.ts';
import type { Page } from '../../engine/model/lake_catalog/namespaces.ts';
import { objectAt } from '../../engine/model/lake_catalog/fields.ts';
import { noTable } from '../../engine/model/lake_catalog/tables.ts';
import type { TableName } from '../../engine/model/lake_catalog/tables.ts';
import { parseExactJson } from '../../platform/json/exact_json.ts';
import type { Fields } from '../../platform/fields.ts';
import { jsonBody, rawBody } from '../../platform/http/bodies/body.ts';

const separator = '\u001F';
const page_size_max = 10_000;
const page_size_usual = 1_000;

/** Returns the body as an object, with exact whole numbers. Throws 400 and 415 like every route. */
export function exactBody(request: FastifyRequest): Fields {
  // Checks its size, depth and texts first.
  objectAt(jsonBody(request), 'The body');
  const bytes = rawBody(request);
  return bytes === undefined
    ? {}
    : objectAt(parseExactJson(new TextDecoder().decode(bytes)), 'The body');
}

/** Returns the levels of the path's namespace. */
export function levelsOf(request: FastifyRequest): string[] {
  const levels = split((request.params as { namespace: string }).namespace);
  if (levels.some(hasNul)) throw noNamespace(levels);
  return levels;
}

/** Returns the table of the path. */
export function tableOf(request: FastifyRequest): TableName {
  const named = { levels: levelsOf(request), name: (request.params as { table: string }).table };
  if (hasNul(named.name)) throw noTable(named);
  return named;
}

/** Returns true for a text that the store cannot hold, so no object has that name. */
const hasNul = (text: string) => text.includes('\0');

/** Returns the levels of the namespace whose children are requested; none for the top. */
export function parentOf(request: FastifyRequest): string[] {
  const { parent } = request.query as { parent?: unknown };
  return typeof parent === 'string' && parent !== '' ? split(parent) : [];
}

const split = (text: string) => text.split(separator);

/**
 * Returns the requested page; all entries without `pageToken`, as the specification says. A token
 * contains the last entry of the page before.
 */
export function pageOf(request: FastifyRequest): Page {
  const { pageToken: token, pageSize: size } = request.query as Record<string, unknown>;
  if (token === undefined && size === undefined) return { after: null, size: null };
  const number = size === undefined ? page_size_usual : Number(size);
  if (!Number.isInteger(number) || number < 1) throw badRequest('pageSize must be at least 1.');
  return {
    after:
      typeof token === 'string' && token !== ''
        ? Buffer.from(token, 'base64url').toString('utf8')
        : null,
    size: Math.min(number, page_size_max),
  };
}

/** Returns the token of the next page; null after the last page. */
export function tokenAfter(names: readonly string[], { size }: Page): string | null {
  const last = names.at(-1);
  return size === null || last === undefined || names.length < size
    ? null
    : Buffer.from(last).toString('base64url');
}
