import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { attrsOf, projectBase } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { connectionsBase } from '../../../../test/factories/batch_exports/connections.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../../test/harness.ts';

const principal = 'arn:aws:iam::111122223333:role/sluice';
const aws_role_arn = 'arn:aws:iam::123456789012:role/exports';

const trusted = aroundTests(() =>
  openHarness({ clickhouse: false, config: { aws_principal: principal } }),
);
const closed = aroundTests(() => openHarness({ clickhouse: false }));

const roleOf = async (home: TestOrganization) =>
  (await home.ask('GET', `/api/organizations/${home.organization.id}/aws_role/`)).body;

const create = (home: TestOrganization, config: object, type = 'S3') =>
  home.ask('POST', projectBase(home), {
    name: 'x',
    interval: 'hour',
    destination: {
      type,
      config: { bucket_name: 'my-bucket', region: 'eu-central-1', prefix: '', ...config },
    },
  });

const organizationOf = (harness: Harness) => harness.newOrganization();

test('an organization sees its external id and a trust policy that asks for it', async () => {
  const [home, other] = [await organizationOf(trusted), await organizationOf(trusted)];
  const role = await roleOf(home);
  assert.equal(role.principal, principal);
  assert.notEqual(role.external_id, (await roleOf(other)).external_id);
  const [statement] = JSON.parse(role.trust_policy).Statement;
  assert.deepEqual(statement.Principal, { AWS: principal });
  assert.deepEqual(statement.Condition, { StringEquals: { 'sts:ExternalId': role.external_id } });
  const member = await trusted.newMember(home.organization.id, 1, ['batch_export:read']);
  const path = `/api/organizations/${home.organization.id}/aws_role/`;
  assert.deepEqual((await member.ask('GET', path)).body, role);
  assert.equal((await other.ask('GET', path)).status, 404);
});

test('an external id of another organization cannot assume a role', async () => {
  const [home, other] = [await organizationOf(trusted), await organizationOf(trusted)];
  const [own, foreign] = [await roleOf(home), await roleOf(other)];
  const missing = await create(home, { aws_role_arn });
  assert.deepEqual(attrsOf(missing), ['destination__config__aws_external_id required']);
  assert.ok(missing.body.detail.includes(own.external_id) && missing.text.includes(principal));
  for (const aws_external_id of [foreign.external_id, 'chosen', own.external_id.toUpperCase()]) {
    const config = { aws_role_arn, aws_external_id };
    assert.deepEqual(
      attrsOf(await create(home, config)),
      ['destination__config__aws_external_id invalid_input'],
      aws_external_id,
    );
    const connection = await home.ask('POST', connectionsBase(home), {
      name: 'x',
      type: 'S3',
      config,
    });
    assert.deepEqual(attrsOf(connection), ['config__aws_external_id invalid_input']);
  }
  const right = { aws_role_arn, aws_external_id: own.external_id };
  const created = await create(home, right);
  assert.equal(created.status, 201, created.text);
  const url = `${projectBase(home)}${created.body.id}/`;
  const change = async (config: object) =>
    attrsOf(await home.ask('PATCH', url, { destination: { config } }));
  assert.deepEqual(await change({ aws_external_id: foreign.external_id }), [
    'destination__config__aws_external_id invalid_input',
  ]);
  // A key of their own may assume what it is let, by any external id; without it that is over.
  const keys = { aws_access_key_id: 'AKIAPLANTED', aws_secret_access_key: 'pl4nted-word' };
  const own_key = { ...keys, aws_role_arn, aws_external_id: 'chosen' };
  const keyed = await create(home, own_key);
  assert.equal(keyed.status, 201, keyed.text);
  const keyless = await home.ask('PATCH', `${projectBase(home)}${keyed.body.id}/`, {
    destination: { config: { aws_access_key_id: null, aws_secret_access_key: null } },
  });
  assert.deepEqual(attrsOf(keyless), ['destination__config__aws_external_id invalid_input']);
  const redshift = {
    host: 'c.example.com',
    database: 'd',
    user: 'u',
    password: 'pl4nted-word',
    mode: 'COPY',
    ...right,
  };
  assert.deepEqual(attrsOf(await create(home, redshift, 'Redshift')), [
    'destination__config__iam_role required',
  ]);
  const copying = { ...redshift, iam_role: 'arn:aws:iam::123456789012:role/reads' };
  assert.equal((await create(home, copying, 'Redshift')).status, 201);
});

test('a role needs an access key if the operator names no principal', async () => {
  const home = await organizationOf(closed);
  const { external_id, ...role } = await roleOf(home);
  assert.deepEqual(role, { principal: null, trust_policy: null });
  const refused = await create(home, { aws_role_arn, aws_external_id: external_id });
  assert.deepEqual(attrsOf(refused), ['destination__config__aws_role_arn required']);
  assert.match(refused.body.detail, /SLUICE_AWS_PRINCIPAL/);
  for (const arn of ['role/x', 'arn:aws:iam::1:role/x', 'arn:aws:iam::123456789012:user/x'])
    assert.ok(
      attrsOf(await create(home, { aws_role_arn: arn })).includes(
        'destination__config__aws_role_arn invalid_input',
      ),
      arn,
    );
  assert.deepEqual(attrsOf(await create(home, { aws_external_id: 'x' })).slice(0, 1), [
    'destination__config__aws_access_key_id required',
  ]);
});
