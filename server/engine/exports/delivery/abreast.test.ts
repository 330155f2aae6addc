import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { eventually } from '../../../../test/eventually.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { fillEvents } from '../../../../test/factories/events/fill_events.ts';
import { openS3Server } from '../../../../test/servers/object_stores/s3_server.ts';
import { s3_place } from '../../destinations/s3/s3.ts';
import { destinationDeps } from '../engine.ts';
import { claimRun } from '../workers/claims.ts';
import { executeRun } from './execute.ts';

const events = 10_000;
const bucket_name = 'abreast';
const exporting = aroundTests(() =>
  openQueryHarness({ config: { outbound_allow: ['127.0.0.0/8'] } }),
);
const server = aroundTests(() => openS3Server([bucket_name]));

/** A run of several slices to a bucket, in the hands of a worker. */
async function newRun() {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  const from = Date.parse('2026-01-01T00:00:00Z');
  await fillEvents(harness.deps.clickhouse, {
    team_id: home.project.id,
    events,
    from,
    to: from + 3_600_000,
  });
  const config = {
    bucket_name,
    region: 'us-east-1',
    prefix: randomUUID(),
    endpoint_url: server.endpoint,
    aws_access_key_id: server.access_key,
    aws_secret_access_key: server.secret_key,
    file_format: 'JSONLines',
    max_file_size_mb: 1,
  };
  const destination = { type: 'S3', config };
  const { id, get } = await exporting.scheduled(home, { destination }, 1);
  const [planned] = await exporting.plan(id);
  const { db, engine } = harness.deps;
  const run_id = planned!.id;
  const claim = () => claimRun(db, run_id, randomUUID());
  return {
    /** Match the requests that begin a slice, from 1, and that send a part of the slice. */
    begin: (slice: number) => new RegExp(`^POST .*${config.prefix}.*-000${slice - 1}.*uploads`),
    part: (slice: number) => new RegExp(`^PUT .*${config.prefix}.*-000${slice - 1}.*partNumber`),
    claim,
    work: async (signal = new AbortController().signal) =>
      executeRun(engine, (await claim())!, signal),
    /** Frees the run, as happens when its worker is gone. */
    letGo: () => db.run(sql`UPDATE batch_export_runs SET worker_id = NULL WHERE id = ${run_id}`),
    status: async () =>
      (
        await db.row<{ status: string }>(
          sql`SELECT status FROM batch_export_runs WHERE id = ${run_id}`,
        )
      )?.status,
    safe: async () =>
      (
        await db.rows<{ number: number }>(sql`SELECT number FROM batch_export_slices
          WHERE run_id = ${run_id} AND outcome IS NOT NULL ORDER BY number`)
      ).map(({ number }) => number + 1),
    lines: async () => {
      const { body } = await get('logs/?search=Slice&limit=500');
      return (body.results as { message: string }[]).flatMap(
        ({ message }) => /^Slice \d+ of \d+/.exec(message) ?? [],
      );
    },
    uuids: async () => {
      const deps = destinationDeps(engine, new AbortController().signal);
      const files = await s3_place.openFiles(config, deps);
      const found: string[] = [];
      for await (const name of files.listAll(config.prefix)) {
        if (!name.endsWith('.jsonl')) continue;
        const text = Buffer.concat((await (await files.read(name))?.toArray()) ?? []).toString();
        for (const line of text.trim().split('\n')) found.push(JSON.parse(line).uuid as string);
      }
      return found;
    },
    openUploads: () =>
      server.openUploads(bucket_name).filter((key) => key.startsWith(config.prefix)),
  };
}

const isSent = (request: RegExp) => server.requests.some((sent) => request.test(sent));

test('a slice is sent while the one before it is still on its way', async () => {
  const run = await newRun();
  server.holdNext(run.begin(1), () =>
    eventually('the second slice waits for the first', () => isSent(run.part(2))),
  );
  await run.work();
  assert.equal(await run.status(), 'Completed');
  const safe = await run.safe();
  assert.ok(safe.length > 3, 'the run has few slices');
  const said = safe.map((number) => `Slice ${number} of ${safe.length}`);
  assert.deepEqual(await run.lines(), said.toReversed());
  const uuids = await run.uuids();
  assert.deepEqual([uuids.length, new Set(uuids).size], [events, events]);
});

test('a worker that stops repeats at most the two slices in progress', async () => {
  const run = await newRun();
  const stop = new AbortController();
  server.holdNext(run.begin(2));
  const working = run.work(stop.signal);
  await eventually('the third slice is not sent', () => isSent(run.part(3)));
  await eventually('the first slice is not safe', async () => (await run.safe()).length > 0);
  assert.deepEqual([await run.safe(), isSent(run.begin(4))], [[1], false]);
  stop.abort('shutdown');
  await assert.rejects(working);
  assert.equal(await run.status(), 'Running');
  await run.letGo();
  const seen = server.requests.length;
  await run.work();
  assert.equal(await run.status(), 'Completed');
  const again = server.requests.slice(seen);
  const isSentAgain = (slice: number) => again.some((request) => run.part(slice).test(request));
  assert.deepEqual([1, 2, 3].map(isSentAgain), [false, true, true]);
  const uuids = await run.uuids();
  assert.deepEqual([uuids.length, new Set(uuids).size], [events, events]);
  assert.deepEqual(run.openUploads(), []);
});

test('a worker that loses its run keeps neither of two slices', async () => {
  const run = await newRun();
  server.holdNext(run.begin(1), async () => {
    await eventually('the second slice is not sent', () => isSent(run.part(2)));
    await run.letGo();
    await run.claim();
  });
  await run.work();
  assert.deepEqual(
    [await run.status(), await run.safe(), isSent(run.begin(3))],
    ['Running', [], false],
  );
  await run.letGo();
  await run.work();
  const uuids = await run.uuids();
  assert.deepEqual([uuids.length, new Set(uuids).size], [events, events]);
  assert.deepEqual([await run.status(), run.openUploads()], ['Completed', []]);
});

test('a refused slice ends the one after it, and nothing is left', async () => {
  const run = await newRun();
  server.holdNext(run.part(2));
  server.failNext(run.part(1), 403, 'AccessDenied');
  server.holdNext(run.begin(1), () =>
    eventually('the second slice is not sent', () => isSent(run.part(2))),
  );
  await run.work();
  assert.equal(await run.status(), 'Failed');
  assert.equal(isSent(run.begin(3)), false);
  assert.deepEqual([run.openUploads(), await run.uuids()], [[], []]);
});
