import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetParameter } from '../../server/platform/http/caller/guard.ts';
import { shareHarness } from '../harness.ts';
import type { TestOrganization } from '../harness.ts';
import { not_recorded } from '../watchers/recorded.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';
import { everyRoute } from './every_route.ts';

/**
 * Routes that do something before `write()` begins, because it takes long or must hold also when
 * the change is refused, and what that is.
 */
const before_write: Record<string, string> = {
  ...Object.fromEntries(
    [
      'POST /iceberg/v1/:project_id/namespaces',
      'DELETE /iceberg/v1/:project_id/namespaces/:namespace',
      'POST /iceberg/v1/:project_id/namespaces/:namespace/properties',
      'POST /iceberg/v1/:project_id/namespaces/:namespace/tables',
      'POST /iceberg/v1/:project_id/namespaces/:namespace/register',
      'DELETE /iceberg/v1/:project_id/namespaces/:namespace/tables/:table',
      'POST /iceberg/v1/:project_id/namespaces/:namespace/tables/:table',
      'POST /iceberg/v1/:project_id/tables/rename',
    ].map((name) => [name, 'Reads names and body, and tells errors as Iceberg does.'] as const),
  ),
  'POST /api/sessions/': 'Counts the try and checks the password.',
  'POST /api/users/@me/email/': 'Counts the try and checks the password.',
  'POST /api/users/@me/password/':
    'Counts the try, checks the old password and hashes the new one.',
  'POST /api/sessions/passkey/': 'Counts the try and looks whose passkey it is.',
  'POST /api/users/@me/totp/': 'Counts the try and checks the password.',
  'DELETE /api/users/@me/totp/': 'Counts the try and checks the password.',
  'POST /api/users/@me/passkeys/begin/': 'Counts the try and checks the password.',
  'DELETE /api/users/@me/passkeys/:id/': 'Counts the try and checks the password.',
  'POST /api/users/@me/recovery_codes/': 'Counts the try and checks the password.',
  'POST /api/users/@me/verify_email/': 'Counts the mails that are asked for.',
  'POST /api/users/reset_password/': 'Counts the mails that are asked for.',
  'POST /api/users/reset_password/confirm/': 'Hashes the password.',
  'POST /api/invites/:id/accept/': 'Hashes the password.',
  'POST /api/projects/': 'Looks whose turn it takes.',
  'POST /api/organizations/:organization_id/domains/:id/verify/': 'Asks the DNS.',
  'POST /api/organizations/:organization_id/batch_exports/': 'Asks the store about the query.',
  'POST /api/projects/:project_id/batch_exports/': 'Asks the store about the query.',
  'POST /api/projects/:project_id/plugin_configs/:id/oauth/disconnect/':
    'Finds the tool, and asks its vendor to revoke the tokens.',
  'POST /api/personal_api_keys/agents/': 'Fetches the document that describes the client.',
  'POST /api/single_sign_on/link/': 'Slows tries with wrong tokens.',
  'POST /api/setup_links/verify/': 'Finds the domain of the link, and asks the DNS.',
  'POST /api/setup_links/provider/': 'Finds the organization of the link, whose turn it takes.',
  'POST /api/sessions/@current/confirm/': 'Counts the try and checks the password.',
  'POST /api/users/@me/reset_password/': 'Counts the mails that are asked for.',
};

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    routes = (await everyRoute(harness.deps)).filter(({ method }) => method !== 'GET');
    home = await harness.newOrganization();
    cookie = await harness.newSession(home.user);
  },
});
let routes: RegisteredRoute[];
let home: TestOrganization;
let cookie: string;

const nameOf = ({ method, path }: RegisteredRoute) => `${method} ${path}`;

/**
 * The route's path in the caller's organization or project; whatever else it names does not exist.
 */
function pathOf(route: RegisteredRoute): string {
  const target = route.within === undefined ? undefined : targetParameter(route.path, route.within);
  const own = route.within === 'project' ? String(home.project.id) : home.organization.id;
  return route.path.replaceAll(/:(\w+)/g, (_whole, name: string) =>
    name === target ? own : '01890000-0000-7000-8000-000000000000',
  );
}

test('every change goes through write(), which looks at validate_only first', async () => {
  assert.ok(routes.length >= 20);
  const astray: string[] = [];
  for (const route of routes.filter(
    (one) => not_recorded[nameOf(one)] === undefined && before_write[nameOf(one)] === undefined,
  )) {
    const answer = await harness.request(route.method, `${pathOf(route)}?validate_only=perhaps`, {
      body: {},
      headers: route.scope === 'public' ? {} : { cookie },
    });
    if (answer.status !== 400 || answer.body.attr !== 'validate_only')
      astray.push(`${nameOf(route)}: ${answer.status} ${answer.text.slice(0, 200)}`);
  }
  assert.deepEqual(
    astray,
    [],
    'Let these routes change things inside write() of server/platform/http/write.ts, or say ' +
      'in test/watchers/recorded.ts or here why not.',
  );
});

test('every route that is an exception exists', () => {
  const names = routes.map(nameOf);
  assert.deepEqual(
    [...Object.keys(not_recorded), ...Object.keys(before_write)].filter(
      (name) => !names.includes(name),
    ),
    [],
  );
});
