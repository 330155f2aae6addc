import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import type { Fields } from '../../platform/fields.ts';
import { scimDoor } from './door.ts';
import { listedGroups } from './groups/groups.ts';
import { listAnswer, readListQuery } from './list_query.ts';
import type { ListQuery, Listed } from './list_query.ts';
import { ScimRefused, invalidValue, scim_type } from './refusal.ts';
import { objectBody } from './sent.ts';
import { listedPeople } from './users/users.ts';

const type_attribute = 'meta.resourcetype';

/**
 * Routes of the lists as a POST (RFC 7644, 3.4.3), so that no e-mail address appears in a URL:
 * `/Users/.search`, `/Groups/.search`, and `/.search` for people and then groups.
 */
export function searchRoutes(app: FastifyInstance, deps: Deps): void {
  const base = '/scim/v2/:domain_id';
  for (const [path, listed] of [
    ['/Users/.search', listedPeople],
    ['/Groups/.search', listedGroups],
    ['/.search', listedAll],
  ] as const)
    app.post(`${base}${path}`, scimDoor, async (request, reply) => {
      const query = queryOf(objectBody(request));
      const asked = readListQuery(query);
      const { total, resources } = await listed(deps, request, query, asked);
      void reply.type(scim_type);
      return listAnswer(total, asked.start, resources);
    });
}

/** Returns the body of a search as the query of a list. */
function queryOf(sent: Fields): Fields {
  const { filter, startIndex, count, attributes, excludedAttributes } = sent;
  const numbers = Object.entries({ startIndex, count }).map(([name, value]) => {
    if (value === undefined || value === null) return [name, undefined];
    if (typeof value !== 'number' || !Number.isInteger(value))
      throw invalidValue(`${name} must be a whole number.`);
    return [name, String(value)];
  });
  const lists = Object.entries({ attributes, excludedAttributes }).map(([name, value]) => {
    const names: unknown = value ?? [];
    if (!Array.isArray(names) || !names.every((one) => typeof one === 'string'))
      throw invalidValue(`${name} must be a list of names.`);
    return [name, names.join(',')];
  });
  return { filter: filter ?? undefined, ...Object.fromEntries([...numbers, ...lists]) } as Fields;
}

/**
 * Lists people and then groups, as one list. A type without one of the filter's attributes has no
 * results.
 */
async function listedAll(
  deps: Deps,
  request: FastifyRequest,
  query: Fields,
  { filter, start, count }: ListQuery,
): Promise<Listed> {
  const all: Listed = { total: 0, resources: [] };
  let refusal: ScimRefused | undefined;
  let is_understood = false;
  for (const [type, listed] of [
    ['User', listedPeople],
    ['Group', listedGroups],
  ] as const) {
    const rest = filter.filter(
      ({ attribute, value }) => attribute !== type_attribute || value !== type,
    );
    const page = {
      filter: rest,
      start: Math.max(1, start - all.total),
      count: count - all.resources.length,
    };
    try {
      const { total, resources } = await listed(deps, request, query, page);
      all.total += total;
      all.resources.push(...resources);
      is_understood = true;
    } catch (error) {
      if (!(error instanceof ScimRefused) || error.type !== 'invalidFilter') throw error;
      refusal = error;
    }
  }
  if (!is_understood && refusal !== undefined) throw refusal;
  return all;
}
