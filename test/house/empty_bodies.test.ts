import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newExport } from '../factories/batch_exports/batch_exports.ts';
import { webhook_secret } from '../factories/notices.ts';
import { shareHarness } from '../harness.ts';
import type { TestOrganization } from '../harness.ts';

// Compares the OpenAPI document's words on bodies with the server.

type Described = { requestBody?: { required?: boolean } };

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    home = await harness.newOrganization();
    cookie = await harness.newSession(home.user);
  },
});
let home: TestOrganization;
let cookie: string;

const nobody = '01890000-0000-7000-8000-000000000000';

const document = () =>
  harness.app.swagger() as unknown as { paths: Record<string, Record<string, Described>> };
const ask = (method: string, path: string, body?: unknown) =>
  harness.request(method, path, { headers: { cookie }, body });

/** Records that actions are about, by the part of the path in front of their id. */
async function knownIds(): Promise<Record<string, string>> {
  const organization = `/api/organizations/${home.organization.id}/`;
  const project = `/api/projects/${home.project.id}/`;
  const created = async (path: string, body: object) => {
    const answer = await ask('POST', path, body);
    assert.equal(answer.status, 201, answer.text);
    return String(answer.body.id);
  };
  const name = 'One';
  const url = 'https://hooks.example.com/a';
  const plugin = (collection: string) => created(`${organization}${collection}/`, { name });
  return {
    batch_exports: (await newExport(home)).id,
    domains: await created(`${organization}domains/`, { domain: 'empty-bodies.example.com' }),
    invites: await created(`${organization}invites/`, { target_email: 'empty@example.com' }),
    notice_targets: await created(`${project}notice_targets/`, {
      type: 'webhook',
      url,
      secret: webhook_secret,
    }),
    write_keys: await created(`${project}write_keys/`, { name }),
    pipeline_destinations: await plugin('pipeline_destinations'),
    pipeline_frontend_apps: await plugin('pipeline_frontend_apps'),
    pipeline_import_apps: await plugin('pipeline_import_apps'),
    personal_api_keys: await created('/api/personal_api_keys/', { label: name, scopes: ['*'] }),
  };
}

/** An empty body is refused or served by what the account has: a password, a second factor. */
const depends_on_account =
  /\/(?:sessions\/@current\/confirm|@me\/(?:totp|recovery_codes|passkeys\/begin)|\{id\}\/accept)\/$/;
/** Paths of other protocols, which read a missing body as empty. */
const foreign = /^\/api\/(?:s|px)\//;
/** Refusals that are not about what was sent. */
const about_state = ['feature_not_available', 'verification_required'];

test('a body is required of each POST that refuses an empty request, and of no other', async () => {
  const ids = await knownIds();
  const wrong: string[] = [];
  let asked = 0;
  for (const [path, { post }] of Object.entries(document().paths)) {
    if (post === undefined || !path.startsWith('/api/') || foreign.test(path)) continue;
    if (depends_on_account.test(path)) continue;
    const url = path
      .replace('{organization_id}', home.organization.id)
      .replace('{project_id}', String(home.project.id))
      .replaceAll(/(\w+)\/\{\w+\}/g, (_whole, noun: string) => `${noun}/${ids[noun] ?? nobody}`);
    const answer = await ask('POST', `${url}?validate_only=true`);
    if (answer.status === 404) continue;
    asked += 1;
    const is_refused = answer.status === 400 && !about_state.includes(answer.body.code);
    if (is_refused !== (post.requestBody?.required === true))
      wrong.push(`${path}: ${answer.status} ${answer.text.slice(0, 200)}`);
  }
  assert.ok(asked >= 60, String(asked));
  assert.deepEqual(wrong, []);
});

test('every list of the document says what its items are', () => {
  const wrong: string[] = [];
  const look = (value: unknown, at: string) => {
    if (typeof value !== 'object' || value === null) return;
    const { type, items } = value as { type?: unknown; items?: unknown };
    if ([type].flat().includes('array') && items === undefined) wrong.push(at);
    for (const [name, inner] of Object.entries(value)) look(inner, `${at}/${name}`);
  };
  look(document(), '');
  assert.deepEqual(wrong, []);
});
