import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import {
  createKey,
  newPerson,
  list_of_keys as list,
} from '../../../test/factories/people/signed_in.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';

const day_ms = 86_400_000;

let now = Date.parse('2030-01-01T00:00:00Z');
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);

const at = (ms: number) => new Date(ms).toISOString();
const statusOf = async (key: string, path = '/api/projects/') =>
  (await harness.request('GET', path, { key })).status;

test('a person has at most 100 working keys, also in a race; expired ones are free', async () => {
  const person = await newPerson(harness);
  await harness.deps.db.run(sql`
    INSERT INTO personal_api_keys (id, user_id, label, key_hash, mask_value, scopes, expires_at)
    SELECT gen_random_uuid(), ${person.user.id}, 'x', decode(md5(${person.user.uuid} || n), 'hex'),
      'x', '{*}', CASE WHEN n > 97 THEN '2020-01-01'::timestamptz END
    FROM generate_series(1, 120) n`);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => person.ask('POST', list, { label: 'x', scopes: ['*'] })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 400, 400, 400, 400]);
  const refused = answers.find(({ status }) => status === 400)!;
  assert.deepEqual([refused.body.code, refused.body.attr], ['max_items', null]);
  const { id } = answers.find(({ status }) => status === 201)!.body;
  assert.equal(
    (await person.ask('POST', `${list}${id}/roll/`, { overlap_seconds: 60 })).status,
    400,
  );
  assert.equal((await person.ask('POST', `${list}${id}/roll/`, {})).status, 201);
  assert.equal((await person.ask('GET', list)).body.count, 124);
});

test('roll: a new key with the same fields, and the old one works on for the overlap', async () => {
  const person = await newPerson(harness);
  const fields = {
    scopes: ['project:read'],
    scoped_organizations: [person.organization.id],
    scoped_teams: [person.project.id],
    expires_at: at(now + day_ms),
  };
  const { value, ...old } = await createKey(person, fields);
  const rolled = await person.ask('POST', `${list}${old.id}/roll/`, { overlap_seconds: 3600 });
  assert.equal(rolled.status, 201, rolled.text);
  const { value: new_value, ...created } = rolled.body;
  const own = { id: '', mask_value: '', created_at: '' };
  assert.deepEqual({ ...created, ...own }, { ...old, ...own });
  assert.notEqual(created.id, old.id);
  assert.equal(
    Date.parse((await person.ask('GET', `${list}${old.id}/`)).body.expires_at),
    now + 3_600_000,
  );
  assert.deepEqual([await statusOf(value), await statusOf(new_value)], [200, 200]);
  now += 3_600_000;
  assert.deepEqual([await statusOf(value), await statusOf(new_value)], [401, 200]);
});

test(
  'roll: without an overlap the old key ends at once, an overlap never prolongs it, and an ' +
    'expired key is 409',
  async () => {
    const person = await newPerson(harness);
    const one = await createKey(person);
    const rolled = await person.ask('POST', `${list}${one.id}/roll/`);
    assert.deepEqual(
      [rolled.status, await statusOf(one.value), await statusOf(rolled.body.value)],
      [201, 401, 200],
    );
    assert.equal((await person.ask('POST', `${list}${one.id}/roll/`)).status, 409);
    const ending = await createKey(person, { expires_at: at(now + 10_000) });
    assert.equal(
      (await person.ask('POST', `${list}${ending.id}/roll/`, { overlap_seconds: 604_800 })).status,
      201,
    );
    assert.equal(
      Date.parse((await person.ask('GET', `${list}${ending.id}/`)).body.expires_at),
      now + 10_000,
    );
    const faults: [unknown, string][] = [
      [-1, 'min_value'],
      [604_801, 'max_value'],
      [1.5, 'invalid_input'],
      ['1', 'invalid_input'],
      [null, 'null'],
    ];
    for (const [overlap_seconds, code] of faults)
      assert.deepEqual(
        faultsOf(await person.ask('POST', `${list}${ending.id}/roll/`, { overlap_seconds })),
        [`overlap_seconds ${code}`],
      );
  },
);

test('an expired key is not brought back, and a rotated one ends with its overlap', async () => {
  const person = await newPerson(harness);
  const old = await createKey(person, { expires_at: at(now + day_ms) });
  const url = `${list}${old.id}/`;
  assert.equal((await person.ask('POST', `${url}roll/`, { overlap_seconds: 3600 })).status, 201);
  assert.equal((await person.ask('POST', `${url}roll/`, { overlap_seconds: 60 })).status, 409);
  const change = (method: string, fields: Record<string, unknown>) =>
    person.ask(method, url, { label: 'CI', scopes: ['project:read'], ...fields });
  for (const expires_at of [null, at(now + 3_600_001), at(now + 2 * day_ms)])
    for (const method of ['PATCH', 'PUT']) {
      const answer = await change(method, { expires_at });
      assert.deepEqual(
        [answer.status, answer.body.code],
        [409, 'conflict'],
        `${method} ${expires_at}`,
      );
    }
  for (const [fields, ends_ms] of [
    [{}, now + 3_600_000],
    [{ expires_at: at(now + 3_600_000) }, now + 3_600_000],
    [{ expires_at: at(now + 1_800_000) }, now + 1_800_000],
  ] as const)
    for (const method of ['PATCH', 'PUT']) {
      const answer = await change(method, fields);
      assert.deepEqual(
        [answer.status, Date.parse(answer.body.expires_at)],
        [200, ends_ms],
        answer.text,
      );
    }
  assert.equal(
    (await change('PATCH', { expires_at: at(now + 3_600_000) })).status,
    409,
    'a sooner end counts from then on',
  );
  now += 1_800_000;
  for (const expires_at of [null, at(now + day_ms)])
    for (const method of ['PATCH', 'PUT'])
      assert.equal((await change(method, { expires_at })).status, 409);
  assert.equal((await change('PATCH', {})).status, 200);
  assert.equal(await statusOf(old.value), 401);
  const ended = await createKey(person, { expires_at: at(now + 1_000) });
  const living = await createKey(person, { expires_at: at(now + 1_000) });
  assert.equal(
    (await person.ask('PATCH', `${list}${living.id}/`, { expires_at: null })).status,
    200,
  );
  now += 1_000;
  assert.equal(
    (await person.ask('PATCH', `${list}${ended.id}/`, { expires_at: null })).status,
    409,
  );
  assert.deepEqual([await statusOf(ended.value), await statusOf(living.value)], [401, 200]);
});

test('two rolls of one key race without a deadlock; each finds the key or its end', async () => {
  const person = await newPerson(harness);
  const { id } = await createKey(person);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => person.ask('POST', `${list}${id}/roll/`)),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
});
