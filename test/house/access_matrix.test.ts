import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetParameter } from '../../server/platform/http/caller/guard.ts';
import { inTurn, is_deep } from '../depth.ts';
import { shareHarness } from '../harness.ts';
import type { Answer, TestOrganization } from '../harness.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';
import { everyRoute } from './every_route.ts';

const unknown_uuid = '01890000-0000-7000-8000-000000000000';
/** Values for an id that cannot be one, or that no object has. */
const wrong_ids = [
  unknown_uuid,
  '2147483647',
  '99999999999999999999',
  '-1',
  '0',
  'x',
  '@me',
  '%00',
  '%F0%9F%98%80',
  "'",
  'null',
  'undefined',
  '__proto__',
  '..%2f',
  'a'.repeat(90),
];
const levels = [1, 8, 15] as const;

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    routes = (await everyRoute(harness.deps)).filter((route) => route.scope !== 'public');
    own = await harness.newOrganization();
    stranger = await harness.newOrganization();
  },
});
let routes: RegisteredRoute[];
let own: TestOrganization;
let stranger: TestOrganization;

const keys = new Map<string, Promise<string>>();
/** A key of our own that has this scope alone. */
function keyOf(scope: string): Promise<string> {
  const key = keys.get(scope) ?? harness.newKey(own.user, { scopes: [scope] });
  keys.set(scope, key);
  return key;
}

const isChange = (route: RegisteredRoute) => route.method !== 'GET';

/**
 * One of what is tried at each route: the next at each next one, so that all of them have been
 * tried after a few routes; or all at each.
 */
function triedAt<One>(index: number, all: readonly One[]): One[] {
  return is_deep ? [...all] : [all[index % all.length]!];
}

/** The route's path with the caller's target and the given id for every other parameter. */
function pathOf(route: RegisteredRoute, target: string | undefined, other: string): string {
  const parameter =
    route.within === undefined ? undefined : targetParameter(route.path, route.within);
  return route.path.replaceAll(/:(\w+)/g, (_whole, name: string) =>
    name === parameter && target !== undefined ? target : other,
  );
}

const ownTarget = (route: RegisteredRoute) =>
  route.within === 'organization' ? own.organization.id : String(own.project.id);
const namesMore = (route: RegisteredRoute) =>
  route.path.split('/:').length - 1 > (route.within === undefined ? 0 : 1);

/** Changes are only validated, so that one route's test takes nothing away from the next. */
async function ask(
  route: RegisteredRoute,
  path: string,
  key?: string,
  body: unknown = {},
): Promise<Answer> {
  return harness.request(route.method, isChange(route) ? `${path}?validate_only=true` : path, {
    ...(key === undefined ? {} : { key }),
    ...(isChange(route) ? { body } : {}),
  });
}

/**
 * Some of the routes, by turns, for what `access_table.test.ts` shows of each: here more of the
 * answer is looked at. Or all of them.
 */
let turn = 0;
function someOf(all: RegisteredRoute[]): RegisteredRoute[] {
  turn += 1;
  return is_deep ? all : all.filter((_route, index) => (index + turn) % 8 === 0);
}

test('without a key every route is 401', async () => {
  assert.ok(routes.length >= 12);
  for (const route of someOf(routes)) {
    const answer = await ask(route, pathOf(route, ownTarget(route), unknown_uuid));
    assert.equal(answer.status, 401, `${route.method} ${route.path}`);
    // The way in for assistants says more.
    assert.match(answer.headers['www-authenticate']!, /^Bearer\b/);
  }
});

test('without the right scope a route is 403 and names it, even for unknown objects', async () => {
  for (const route of someOf(routes.filter((one) => one.scope !== 'any'))) {
    const other = await keyOf(route.scope === 'event:write' ? 'project:read' : 'event:write');
    for (const target of [ownTarget(route), wrong_ids[0]!]) {
      const answer = await ask(route, pathOf(route, target, unknown_uuid), other);
      assert.equal(answer.status, 403, `${route.method} ${route.path}`);
      // The catalog tells errors as Iceberg does.
      const detail: string = answer.body.detail ?? answer.body.error?.message;
      assert.ok(detail.includes(route.scope), `${route.method} ${route.path}: ${detail}`);
    }
  }
});

test('the read scope does not open a change, the write scope opens a read', async () => {
  const scoped = routes.filter((one) => one.scope !== 'any' && !one.session);
  const isOpen = async (route: RegisteredRoute, scope: string) => {
    const path = pathOf(route, ownTarget(route), unknown_uuid);
    return (await ask(route, path, await keyOf(scope))).status !== 403;
  };
  for (const route of scoped.filter(({ scope }) => scope.endsWith(':write')))
    assert.equal(
      await isOpen(route, route.scope.replace(':write', ':read')),
      false,
      `${route.method} ${route.path}`,
    );
  for (const route of someOf(scoped))
    assert.ok(
      await isOpen(route, route.scope.replace(':read', ':write')),
      `${route.method} ${route.path}`,
    );
});

test('below its level a route is 403; what it does not find is 404', async () => {
  for (const level of levels) {
    const { key } = await harness.newMember(own.organization.id, level);
    // A key is 403 where only a session may, wherever that leads.
    for (const route of someOf(routes.filter((one) => one.within !== undefined && !one.session))) {
      const name = `${route.method} ${route.path} at level ${level}`;
      const { status } = await ask(route, pathOf(route, ownTarget(route), unknown_uuid), key);
      if (level < route.level) assert.equal(status, 403, name);
      else if (namesMore(route)) assert.equal(status, 404, name);
      else assert.ok(![401, 403, 404].includes(status), `${name}: ${status}`);
    }
  }
});

test('in a foreign organization every change is 404, in the words of an unknown id', async () => {
  // `access_table.test.ts` shows it of reads, and of changes with an empty body.
  const changes = routes.filter((one) => one.within !== undefined && isChange(one));
  for (const route of someOf(changes.filter((one) => !one.session))) {
    for (const body of is_deep ? [{}, 'broken json'] : ['broken json']) {
      const foreign = await ask(
        route,
        pathOf(route, ownTarget(route), unknown_uuid),
        stranger.key,
        body,
      );
      const missing = await ask(
        route,
        pathOf(route, route.within === 'organization' ? unknown_uuid : '2147483647', unknown_uuid),
        stranger.key,
        body,
      );
      assert.equal(foreign.status, 404, `${route.method} ${route.path}`);
      assert.deepEqual({ ...foreign.body, request_id: '' }, { ...missing.body, request_id: '' });
    }
  }
});

test('ids that cannot be ids are 404 everywhere', async () => {
  const naming = routes.filter((one) => one.path.includes('/:') && !one.session);
  for (const [index, route] of inTurn(naming, 3).entries()) {
    // A member may be named as oneself.
    for (const wrong of triedAt(index, wrong_ids).filter(
      (id) => id !== '@me' || !route.path.includes(':user__uuid'),
    )) {
      if (route.within !== undefined)
        assert.equal(
          (await ask(route, pathOf(route, wrong, wrong), own.key)).status,
          404,
          `${route.method} ${route.path} with ${wrong}`,
        );
      if (namesMore(route))
        assert.equal(
          (await ask(route, pathOf(route, ownTarget(route), wrong), own.key)).status,
          404,
          `${route.method} ${route.path} with ${wrong} inside`,
        );
    }
  }
});

test('no body that can be sent makes a fault', async () => {
  const deep = '['.repeat(5_000);
  const bodies = [
    '',
    ' ',
    '{',
    '[]',
    '[{}]',
    '"x"',
    'null',
    '1e999',
    'true',
    '{"name":{}}',
    '{"name":"\\u0000"}',
    '{"name":"\\udfff"}',
    '{"__proto__":1,"constructor":{"prototype":1}}',
    '{"name":"x","name":null}',
    deep,
    '{"start_at":"9999-12-31T23:59:60Z","end_at":-1,"limit":1e308}',
    '\ufeff{}',
  ];
  for (const [index, route] of routes.filter(isChange).entries()) {
    for (const body of triedAt(index, bodies)) {
      const { status } = await ask(
        route,
        pathOf(route, ownTarget(route), unknown_uuid),
        own.key,
        body,
      );
      assert.ok(status < 500, `${route.method} ${route.path} with ${body.slice(0, 40)}: ${status}`);
    }
  }
});

test('a stale If-Match is 412 on every change of the organization or project itself', async () => {
  for (const route of routes.filter(
    (one) =>
      ['PATCH', 'PUT', 'DELETE'].includes(one.method) &&
      one.within !== undefined &&
      !namesMore(one),
  )) {
    const answer = await own.ask(
      route.method,
      `${pathOf(route, ownTarget(route), unknown_uuid)}?validate_only=true`,
      { name: 'x' },
      { 'if-match': '"stale"' },
    );
    assert.equal(answer.status, 412, `${route.method} ${route.path}`);
  }
});
