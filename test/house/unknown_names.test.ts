import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOfContract } from '../../server/api/contract_endpoints.ts';
import { shareHarness } from '../harness.ts';
import type { Answer, TestOrganization } from '../harness.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';
import contract from './contract.json' with { type: 'json' };
import { everyRoute } from './every_route.ts';

// Every route of the API refuses names that it does not know, or says what it ignored.

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    routes = (await everyRoute(harness.deps)).filter(({ path }) => path.startsWith('/api/'));
    home = await harness.newOrganization();
    cookie = await harness.newSession(home.user);
  },
});
let home: TestOrganization;
let cookie: string;
let routes: RegisteredRoute[];

const unknown = 'nonsense_of_the_house';
const nobody = '01890000-0000-7000-8000-000000000000';

/** The path with the organization and the project of the test, and ids that nobody has. */
function pathOf({ path, within }: RegisteredRoute): string {
  const own = { organization: home.organization.id, project: String(home.project.id) };
  const target = within === undefined ? undefined : own[within];
  return path
    .replace(':organization_id', own.organization)
    .replace(':project_id', own.project)
    .replace(/:id\//, (text) => (path.includes(`${within}_id`) ? text : `${target ?? nobody}/`))
    .replaceAll(/:\w+/g, nobody);
}

const ask = ({ method }: RegisteredRoute, path: string, body?: unknown) =>
  harness.request(method, path, { headers: { cookie }, body });

const names = (answer: Answer) => answer.headers['sluice-ignored']?.split(', ') ?? [];
const refused = (answer: Answer) =>
  answer.status === 400 &&
  answer.body.errors.some((one: any) => one.attr === unknown && one.code === 'unknown_field');
const isOurs = ({ method, path }: RegisteredRoute) => !isOfContract(method, path);
const called = ({ method, path }: RegisteredRoute) => `${method} ${path}`;

test('the endpoints of the contract are those that ignore and tell', () => {
  const wrong = contract.endpoints.filter(({ method, path }) => !isOfContract(method, path));
  assert.deepEqual(wrong, []);
  const plain = (path: string) => path.replaceAll(/:\w+/g, ':');
  const known = new Set(contract.endpoints.map(({ method, path }) => method + plain(path)));
  // The same records at their other mount, PUT beside PATCH, and what others call by another name.
  const beside = routes.filter((one) => !isOurs(one) && !known.has(one.method + plain(one.path)));
  const expected =
    /\/pipeline_import_apps\/|batch_exports\/:\w+\/(?:backfills|runs?)\/|^GET .*:\w+\/projects\/$/;
  assert.deepEqual(
    beside.filter((one) => one.method !== 'PUT' && !expected.test(called(one))).map(called),
    [],
  );
});

test('a query parameter that a route does not know is refused, or told', async () => {
  const foreign = /^\/api\/(?:s|px|surveys|feature_flag|early_access_features|web_experiments)\//;
  const asked = routes.filter(({ path }) => !foreign.test(path) && !path.includes('feature_flags'));
  assert.ok(asked.length > 200);
  const wrong: string[] = [];
  for (const route of asked) {
    const writes = route.method === 'GET' ? '' : '&validate_only=true';
    const answer = await ask(route, `${pathOf(route)}?${unknown}=1${writes}`);
    const is_right = isOurs(route)
      ? refused(answer) || (answer.status === 403 && answer.body.code === 'own_factor_required')
      : !refused(answer) && names(answer).includes(unknown);
    if (!is_right) wrong.push(`${called(route)}: ${answer.status} ${answer.text.slice(0, 100)}`);
  }
  assert.deepEqual(wrong, []);
});

test('a field of a body that a route does not know is refused, or told', async () => {
  const wrong: string[] = [];
  let looked_at = 0;
  for (const route of routes.filter(({ method }) => method !== 'GET' && method !== 'DELETE')) {
    const answer = await ask(route, `${pathOf(route)}?validate_only=true`, { [unknown]: 1 });
    // Nobody's record is not there, whatever the body is.
    if (![200, 201, 202, 204, 400].includes(answer.status)) continue;
    looked_at += 1;
    const is_right = isOurs(route) ? refused(answer) : names(answer).includes(unknown);
    if (!is_right && !/\/events\/$|^\/api\/(?:s|px)\//.test(route.path))
      wrong.push(`${called(route)}: ${answer.status} ${answer.text.slice(0, 200)}`);
  }
  assert.ok(looked_at > 30, String(looked_at));
  assert.deepEqual(wrong, []);
});
