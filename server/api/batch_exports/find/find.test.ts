import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import {
  first_hour_at,
  openDeliveringHarness,
  scheduleFrom,
  until,
  withEvents,
} from '../../../../test/factories/batch_exports/delivering_harness.ts';
import { rememberErased } from '../../../engine/ingest/persons/erased_ids.ts';
import type { FoundExport, FoundRecord } from './schema.ts';

const delivering = aroundTests(openDeliveringHarness);

test('a delivered, an excluded, a foreign and an unknown uuid', async () => {
  const { harness } = delivering;
  const { home, created, get } = await withEvents(harness, 'found');
  const id = created.id as string;
  const other = { destination: { type: 'NoOp', config: { exclude_events: ['event 3'] } } };
  const excluding = await newExport(home, other);
  const persons = await newExport(home, { model: 'persons' });
  const made_later = await newExport(home);
  await scheduleFrom(harness, id);
  await delivering.startOnce();
  await until(
    () => get('runs/?status=Completed'),
    ({ results }) => results.length === 3,
  );
  const { key } = home;
  const find = (query: string) =>
    harness.request('GET', `/api/projects/${home.project.id}/find/?${query}`, { key });
  const listed = await find('distinct_id=d&day=2026-01-01');
  assert.equal(listed.status, 200, listed.text);
  assert.deepEqual([listed.body.records.length, listed.body.timezone], [30, 'UTC']);
  const record: FoundRecord = listed.body.records.find(
    ({ event }: FoundRecord) => event === 'event 3',
  );
  // Created now: its query is asked anew for each record, and the day has thirty.
  const queried = await newExport(home, {
    custom_query: "SELECT uuid, event FROM events WHERE event != 'event 3'",
  });
  const { body } = await find(`uuid=${record.uuid!.toUpperCase()}`);
  const [found]: FoundRecord[] = body.records;
  assert.equal(body.records.length, 1);
  assert.equal(Date.parse(found!.inserted_at), first_hour_at + 3 * 60_000);
  const byExport = new Map(found!.exports.map((one) => [one.batch_export, one]));
  const delivered = byExport.get(id)!;
  assert.equal(delivered.state, 'delivered');
  assert.equal(delivered.slice!.records, 10);
  assert.match(delivered.slice!.name!, /^found\/.*\.jsonl$/);
  const receipt = await harness.request('GET', new URL(delivered.receipt!).pathname, { key });
  assert.equal(receipt.body.run_id, delivered.run);
  assert.equal(receipt.body.slices[0].sha256, delivered.slice!.sha256);
  const states = (one: FoundExport) => [one.state, one.reason, one.run];
  assert.deepEqual(states(byExport.get(excluding.id)!), ['excluded', null, null]);
  assert.match(byExport.get(excluding.id)!.detail, /`exclude_events`/);
  assert.deepEqual(states(byExport.get(persons.id)!), ['not_in_model', null, null]);
  assert.deepEqual(states(byExport.get(made_later.id)!), ['outside', 'made_later', null]);
  assert.deepEqual(states(byExport.get(queried.id)!), ['not_in_query', null, null]);
  const unknown = await find(`uuid=${crypto.randomUUID()}`);
  assert.deepEqual(unknown.body.records, []);
  assert.match(unknown.body.detail, /^No event .* is stored\./);
  const stranger = await harness.newOrganization();
  const foreign = await stranger.ask(
    'GET',
    `/api/projects/${stranger.project.id}/find/?uuid=${record.uuid}`,
  );
  assert.deepEqual(foreign.body.records, []);
});

test('a waiting row says when it is planned; a failed run says why', async () => {
  const { harness } = delivering;
  const home = await harness.newOrganization();
  const { id } = await newExport(home, { interval: 'week' });
  const uuid = crypto.randomUUID();
  const sent = await home.ask('POST', `/api/projects/${home.project.id}/events/`, {
    events: [
      { uuid, event: 'e', distinct_id: 'x', properties: {}, timestamp: new Date().toISOString() },
    ],
  });
  assert.equal(sent.status, 200, sent.text);
  const find = async (more = '') =>
    (await home.ask('GET', `/api/projects/${home.project.id}/find/?uuid=${uuid}${more}`)).body;
  const [waiting]: FoundExport[] = (await find()).records[0].exports;
  assert.equal(waiting!.state, 'waiting');
  assert.match(waiting!.detail, /^Ingested at .*\. The run planned at .* delivers it\.$/);
  assert.equal(
    Date.parse(waiting!.due_at!) - Date.parse(waiting!.data_interval_end!),
    harness.deps.config.settle_seconds * 1000,
  );
  const { data_interval_start, data_interval_end } = waiting!;
  await harness.deps.db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, latest_error, finished_at)
    SELECT made, ${id}, ${home.project.id}, 1, made, 'Failed', ${data_interval_start},
      ${data_interval_end}, ${JSON.stringify([
        {
          event_from: null,
          event_to: null,
          inserted_from: Date.parse(data_interval_start!),
          inserted_to: Date.parse(data_interval_end!),
        },
      ])}, 'The bucket is gone.', now() FROM gen_random_uuid() made`);
  const [failed]: FoundExport[] = (await find(`&batch_export=${id}`)).records[0].exports;
  assert.deepEqual(
    [failed!.state, failed!.detail, failed!.receipt],
    ['failed', 'Its run failed: The bucket is gone.', null],
  );
});

test('a search needs all its fields; an unknown export is 404', async () => {
  const { harness } = delivering;
  const home = await harness.newOrganization();
  const find = (query: string) =>
    home.ask('GET', `/api/projects/${home.project.id}/find/?${query}`);
  for (const [query, attr] of [
    ['', 'uuid'],
    ['uuid=x', 'uuid'],
    ['distinct_id=d', 'day'],
    ['distinct_id=d&day=2026-02-31', 'day'],
    ['distinct_id=d&day=tomorrow', 'day'],
  ])
    assert.deepEqual([(await find(query!)).status, (await find(query!)).body.attr], [400, attr]);
  const uuid = crypto.randomUUID();
  assert.equal((await find(`uuid=${uuid}&batch_export=${uuid}`)).status, 404);
});

test('an erased record is told as erased', async () => {
  const { harness } = delivering;
  const home = await harness.newOrganization();
  const team_id = home.project.id;
  const find = async (query: string) =>
    (await home.ask('GET', `/api/projects/${team_id}/find/?${query}`)).body.detail as string;
  const asked_by_uuid = `uuid=${crypto.randomUUID()}`;
  const asked_by_id = (id: string) => `distinct_id=${id}&day=2026-01-01`;
  assert.doesNotMatch(await find(asked_by_uuid), /eras/);
  const { db, secrets } = harness.deps;
  const erasure_id = crypto.randomUUID();
  await db.run(sql`
    INSERT INTO erasures (id, organization_id, team_id, kind, late_events, asked, status, step,
      removed_at, finished_at)
    VALUES (${erasure_id}, ${home.organization.id}, ${team_id}, 'persons', 'refuse', '{}',
      'Completed', 'done', '2026-02-03T04:05:06Z', now())`);
  await rememberErased(db, secrets, { team_id, erasure_id, late_events: 'refuse' }, ['gone']);
  const possible =
    /Or it was erased: this project has 1 erasure, the latest at 2026-02-03T04:05:06/;
  assert.match(await find(asked_by_uuid), possible);
  assert.match(await find(asked_by_id('here')), possible);
  assert.equal(
    await find(asked_by_id('gone')),
    'The store has no events of "gone" on 2026-01-01. An erasure deleted the data of this person.',
  );
});

test('a person is found by the versions that were stored on the day', async () => {
  const { harness } = delivering;
  const home = await harness.newOrganization();
  await harness.deps.db.run(sql`UPDATE projects SET timezone = 'Asia/Tokyo'
    WHERE id = ${home.project.id}`);
  const { id } = await newExport(home, { model: 'persons', interval: 'day' });
  const values = [1, 2].map((version) => ({
    team_id: home.project.id,
    distinct_id: 'ada',
    person_id: crypto.randomUUID(),
    properties: '{}',
    person_version: version,
    person_distinct_id_version: 0,
    is_deleted: 0,
    created_at: '2026-01-01 16:00:00',
    inserted_at: `2026-01-01 16:0${version}:00`,
  }));
  await harness.deps.clickhouse.insert({ table: 'persons', values, format: 'JSONEachRow' });
  const [from, to] = ['2026-01-01T15:00:00Z', '2026-01-02T15:00:00Z'];
  await harness.deps.db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, finished_at)
    SELECT made, ${id}, ${home.project.id}, 1, made, 'Completed', ${from}, ${to},
      ${JSON.stringify([
        {
          event_from: null,
          event_to: null,
          inserted_from: Date.parse(from),
          inserted_to: Date.parse(to),
        },
      ])}, now() FROM gen_random_uuid() made`);
  const { body } = await home.ask(
    'GET',
    `/api/projects/${home.project.id}/find/?distinct_id=ada&day=2026-01-02`,
  );
  assert.deepEqual(
    body.records.map(({ model, person_version, exports }: FoundRecord) => [
      model,
      person_version,
      exports[0]!.state,
    ]),
    [
      ['persons', 1, 'superseded'],
      ['persons', 2, 'delivered'],
      ['person_distinct_ids', 0, 'not_in_model'],
    ],
  );
});
