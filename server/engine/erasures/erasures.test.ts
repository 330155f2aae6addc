import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { eventsIn, openDeliveringHouse, until } from '../../../test/factories/delivering_house.ts';
import type { DeliveringHouse } from '../../../test/factories/delivering_house.ts';
import { newExport, projectBase } from '../../../test/factories/batch_exports.ts';
import { isSigned } from '../../platform/secrets/secrets.ts';
import { verifyExports } from '../../cli/verify.ts';
import { workErasures } from './work.ts';

let world: DeliveringHouse;
before(async () => {
  world = await openDeliveringHouse();
  await world.startOnce();
});
after(() => world.close());

test('a person leaves both stores and what was delivered, and does not come back', async () => {
  const { house, folder } = world;
  const home = await house.newOrganization();
  const base = `/api/projects/${home.project.id}/`;
  const send = (events: object[]) =>
    house.request('POST', `${base}events/`, { key: home.key, body: { events } });
  const sent = await send([
    { event: 'visited', distinct_id: 'anonymous-ada', $set: { city: 'London' } },
    { event: '$identify', distinct_id: 'ada@example.com', properties: { $anon_distinct_id: 'anonymous-ada' } },
    { event: 'paid', distinct_id: 'ada@example.com', $set: { name: 'Ada Lovelace' } },
    { event: 'stays', distinct_id: 'bob@example.com', $set: { name: 'Bob' } },
  ]);
  assert.equal(sent.status, 200, sent.text);
  const made = await newExport(house, home, {
    destination: { type: 'File', config: { prefix: 'ada' } },
  });
  const url = `${projectBase(home)}${made.id}/`;
  const get = (path: string) => house.request('GET', path, { key: home.key });
  const backfill = await house.request('POST', `${url}backfill/`, {
    key: home.key,
    body: { start_at: '2026-01-01T00:00:00Z', end_at: new Date().toISOString(), mode: 'all' },
  });
  console.log(backfill.status, backfill.text.slice(0, 300));
  await until(
    () => get(`${url}runs/`),
    ({ results }) => results.some((run: any) => run.status === 'Completed' && run.records_completed > 0),
  );
  console.log(await eventsIn(folder, 'ada'));
  const asked = await house.request('POST', `${base}erasures/`, {
    key: home.key,
    body: { distinct_ids: ['anonymous-ada'] },
  });
  assert.equal(asked.status, 201, asked.text);
  const one = `${base}erasures/${asked.body.id}/`;
  const begin = performance.now();
  let last = '';
  const done = await until(
    async () => {
      await workErasures(house.deps.engine, new AbortController().signal);
      const answer = await get(one);
      const now = `${answer.body.step} ${answer.body.detail}`;
      if (now !== last) console.log((performance.now() - begin) | 0, now);
      last = now;
      return answer;
    },
    ({ status }) => status === 'Completed',
  );
  console.log(done);
  console.log((await get(`${one}copies/`)).body.results);
  console.log(await eventsIn(folder, 'ada'));
  console.log(JSON.stringify(await verifyExports(house.deps.engine, made.id)));
  const late = await send([
    { event: 'late', distinct_id: 'ada@example.com', $set: { name: 'Ada' } },
    { event: '$identify', distinct_id: 'eve', properties: { $anon_distinct_id: 'anonymous-ada', $set: { a: 1 } } },
  ]);
  console.log(late.body);
  const rows = await house.deps.clickhouse.query({ query: 'SELECT event, distinct_id, properties FROM events', format: 'JSONEachRow' });
  console.log(await rows.text());
  assert.ok(isSigned(done.certificate, done.signature, done.public_key));
});
