import { service_scopes } from '../../server/api/service_keys/schema.ts';
import { targetParameter } from '../../server/platform/http/caller/guard.ts';
import { newServiceKey } from '../factories/people/service_keys.ts';
import type { Answer, Harness } from '../harness.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';

/** A caller: no credentials, a key or a session's cookie. */
type Asker = { key?: string; headers?: Record<string, string> };
/**
 * A route with the status for each caller, and the answers to a caller of another organization
 * about this organization and about an unknown one.
 */
export type AccessRow = {
  route: RegisteredRoute;
  cells: Record<string, number | ''>;
  told: { foreign: unknown; missing: unknown };
};

/** The columns of the table, in order. */
export const access_columns = [
  'no key',
  'wrong scope',
  'key, level 1',
  'key, level 8',
  'key, level 15',
  'session, level 15',
  'service key, level 8',
  'other organization',
  'unknown organization',
  'broken id',
] as const;

const unknown = { organization: '01890000-0000-7000-8000-000000000000', project: '2147483647' };
const missing_id = unknown.organization;

/**
 * Calls every route as every caller and returns the statuses. Changes are only validated, with an
 * empty body, so that no route affects the next one. Ids below the organization or project are
 * unknown. So an allowed request gets 404 there, 400 where a body is needed, and 2xx elsewhere.
 */
export async function accessTable(
  harness: Harness,
  routes: RegisteredRoute[],
): Promise<AccessRow[]> {
  const own = await harness.newOrganization();
  const stranger = await harness.newOrganization();
  const members = {
    1: await harness.newMember(own.organization.id, 1),
    8: await harness.newMember(own.organization.id, 8),
    15: own,
  };
  const service = { key: await newServiceKey(harness, own, { level: 8 }) };
  const session = { headers: { cookie: await harness.newSession(own.user) } };
  const keys = {
    'event:write': await harness.newKey(own.user, { scopes: ['event:write'] }),
    'project:read': await harness.newKey(own.user, { scopes: ['project:read'] }),
  };
  const wrongKey = ({ scope }: RegisteredRoute) => ({
    key: keys[scope === 'event:write' ? 'project:read' : 'event:write'],
  });
  const rows: AccessRow[] = [];
  for (const route of routes) {
    const answerTo = (asker: Asker, target: string, id = missing_id) =>
      send(harness, route, pathOf(route, target, id), asker);
    const ask = async (...asked: Parameters<typeof answerTo>) => (await answerTo(...asked)).status;
    const home = route.within === 'project' ? String(own.project.id) : own.organization.id;
    const isInside = route.within !== undefined;
    const foreign = isInside ? await answerTo(stranger, home) : undefined;
    const missing = isInside ? await answerTo(stranger, unknown[route.within!]) : undefined;
    rows.push({
      route,
      told: { foreign: wordsOf(foreign), missing: wordsOf(missing) },
      cells: {
        'no key': await ask({}, home),
        'wrong scope': route.scope === 'any' ? '' : await ask(wrongKey(route), home),
        'key, level 1': await ask(members[1], home),
        'key, level 8': await ask(members[8], home),
        'key, level 15': await ask(members[15], home),
        'session, level 15': await ask(session, home),
        'service key, level 8': await ask(service, home),
        'other organization': foreign?.status ?? '',
        'unknown organization': missing?.status ?? '',
        'broken id': route.path.includes('/:')
          ? await ask(own, namesMore(route) && isInside ? home : 'x', 'x')
          : '',
      },
    });
  }
  return rows;
}

/**
 * The status that decisions and the route list require; undefined if an allowed request may have
 * any answer.
 */
export function wantedStatus(
  { route }: AccessRow,
  column: (typeof access_columns)[number],
): number | undefined {
  if (column === 'no key') return 401;
  if (column === 'wrong scope') return 403;
  if (route.session && column !== 'session, level 15') return 403;
  if (column === 'service key, level 8' && !isForServiceKeys(route)) return 403;
  // Each of the two routes describes a key of its own kind.
  if (route.path === '/api/service_keys/@current/' && /^(key|session),/.test(column)) return 404;
  if (route.path === '/api/personal_api_keys/@current/' && column === 'service key, level 8')
    return 404;
  // The route describes the calling key, and a session has none.
  if (route.path === '/api/personal_api_keys/@current/' && column === 'session, level 15')
    return 404;
  // Agents use a key.
  if (route.path === '/mcp' && column === 'session, level 15') return 401;
  if (
    column === 'other organization' ||
    column === 'unknown organization' ||
    column === 'broken id'
  )
    return 404;
  const level = Number(/\d+$/.exec(column)![0]);
  if (route.within !== undefined && level < route.level) return 403;
  return namesMore(route) ? 404 : undefined;
}

/**
 * True if a service key may call the route, because it needs none of the scopes that only people
 * have.
 */
function isForServiceKeys({ within, scope, service_keys }: RegisteredRoute): boolean {
  const is_grantable = scope === 'any' || (service_scopes as string[]).includes(scope);
  return is_grantable && (service_keys ?? within !== undefined);
}

/** Returns the table as Markdown. */
export function accessMarkdown(rows: AccessRow[]): string {
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`;
  const body = rows.map(({ route, cells }) =>
    line([
      `${route.method} ${route.path}`,
      `\`${route.scope}\``,
      route.within === undefined ? '' : route.level,
      ...access_columns.map((column) => cells[column] ?? ''),
    ]),
  );
  return [
    line(['route', 'scope', 'level', ...access_columns]),
    line(Array.from({ length: access_columns.length + 3 }, () => '---')),
    ...body,
  ].join('\n');
}

const wordsOf = (answer: Answer | undefined) => ({ ...answer?.body, request_id: '' }) as unknown;

function namesMore(route: RegisteredRoute): boolean {
  const [own, ...more] = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1]);
  return route.within === undefined ? own !== undefined : more.length > 0;
}

function pathOf(route: RegisteredRoute, target: string, other: string): string {
  const parameter =
    route.within === undefined ? undefined : targetParameter(route.path, route.within);
  return route.path.replaceAll(/:(\w+)/g, (_whole, name: string) =>
    name === parameter ? target : other,
  );
}

function send(harness: Harness, route: RegisteredRoute, path: string, asker: Asker) {
  const isChange = route.method !== 'GET';
  return harness.request(route.method, isChange ? `${path}?validate_only=true` : path, {
    ...asker,
    ...(isChange ? { body: {} } : {}),
  });
}
