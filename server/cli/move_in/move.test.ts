// Length: the sources of a move share one server, and the words of its commands.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { countDownloads } from '../../api/file_downloads/read.ts';
import { openImporting } from '../../../test/factories/events/importing.ts';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { eventually } from '../../../test/eventually.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { openSluice, runSluice } from '../../../test/processes/sluice_process.ts';
import { openSegmentServer } from '../../../test/servers/segment.ts';
import { openPosthogServer } from '../../../test/servers/posthog.ts';
import type { PosthogEvent } from '../../../test/servers/posthog.ts';

const sluice = openSluice();
let importing: Awaited<ReturnType<typeof openImporting>>;
before(async () => {
  importing = await openImporting();
});
after(async () => {
  await sluice.close();
  await importing.close();
});

const source_key = 'phx_of_the_source';
const secretsOf = (name: string) => ({
  [`${name}_AWS_ACCESS_KEY_ID`]: 'AKIAEXAMPLE',
  [`${name}_AWS_SECRET_ACCESS_KEY`]: 'a secret of S3',
});
const uuidOf = (number: number) => `d0000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** Events of three days; the last one repeats the uuid of another. */
function posthogEvents(count: number): PosthogEvent[] {
  return Array.from({ length: count }, (_, number) => ({
    uuid: uuidOf(number === count - 1 ? 0 : number),
    event: ['$pageview', 'paid'][number % 2]!,
    distinct_id: `person ${number % 50}`,
    timestamp:
      number === count - 1
        ? '2026-03-01 00:00:00.000000'
        : `2026-03-0${1 + (number % 3)} 10:${String(number % 60).padStart(2, '0')}:00.000000`,
    properties: { number, $set: { seen: number } },
  }));
}

/** Words of a move into the organization. */
function wordsOf(owner: TestOrganization, source: { url: string }, folder: string): string[] {
  return [
    'migrate',
    'posthog',
    '--from',
    source.url,
    '--from-key',
    source_key,
    '--url',
    importing.url,
    '--key',
    owner.key,
    '--folder',
    join(importing.folder, folder),
    '--organization',
    owner.organization.id,
    '--since',
    '2026-03-01',
    '--until',
    '2026-03-04',
  ];
}

async function countHere({ deps }: Harness, project: string | number): Promise<number> {
  const [row] = await deps.clickhouse.rows<{ rows: string }>({
    query: 'SELECT count() AS rows FROM events WHERE team_id = {team_id:Int64}',
    query_params: { team_id: Number(project) },
  });
  return Number(row!.rows);
}

test('a move from PostHog is planned, applied, brought and compared', async (context) => {
  const owner = await importing.harness.newOrganization();
  const source = await openPosthogServer(source_key, posthogEvents(301));
  context.after(source.close);
  const words = wordsOf(owner, source, 'posthog');
  const environment = secretsOf('WEB_SHOP_TO_S3');
  const planned = await sluice.run(words, {});
  assert.equal(planned.code, 0, planned.err);
  assert.match(planned.out, /1 project, 3 persons to invite, 1 export \(paused\)/);
  assert.match(planned.out, /To Databricks: not moved. Sluice has no destination/);
  assert.match(planned.out, /With a query: not moved. Its query/);
  assert.match(planned.out, /2 dashboards: not moved/);
  assert.match(planned.out, /keys unheard_of: not moved/);
  assert.match(planned.out, /WEB_SHOP_TO_S3_AWS_SECRET_ACCESS_KEY/, 'the plan says what it needs');
  for (const [days, said] of [
    [['--since', '2026-03-04'], /--since 2026-03-04 is not before --until 2026-03-04/],
    [['--since', '2026-02-30'], /--since needs a day/],
  ] as const) {
    const told = await sluice.run([...words, ...days], {});
    assert.deepEqual([told.code, said.test(told.err)], [2, true], told.err);
  }
  const file = join(importing.folder, 'posthog', 'posthog_acme.yaml');
  const { projects } = parse(readFileSync(file, 'utf8'));
  assert.equal(projects.web_shop.batch_exports.to_s3.paused, true);
  const refused = await sluice.run([...words, '--apply', '--yes'], {});
  assert.match(refused.err, /Set the missing values first/);
  const history = ['--history', 'api'];
  const applied = await sluice.run([...words, ...history, '--apply', '--yes'], environment);
  assert.equal(applied.code, 0, applied.err + applied.out);
  const all = await owner.ask('GET', `/api/organizations/${owner.organization.id}/projects/`);
  const { id, timezone } = all.body.results.find((one: any) => one.name === 'Web shop');
  assert.equal(timezone, 'Europe/Berlin');
  const exports = await owner.ask('GET', `/api/projects/${id}/batch_exports/`);
  assert.equal(exports.body.results[0].destination.config.bucket_name, 'acme-events');
  const invites = await owner.ask('GET', `/api/organizations/${owner.organization.id}/invites/`);
  assert.deepEqual(
    invites.body.results.map((one: any) => [one.target_email, one.level]).toSorted(),
    [
      ['ada@example.com', 15],
      ['bob@example.com', 1],
      ['eve@example.com', 8],
    ],
  );
  assert.equal(await countHere(importing.harness, id), 300);
  const compared = await sluice.run([...words, ...history, '--compare'], {});
  assert.equal(compared.code, 0, compared.out);
  assert.match(compared.out, /2026-03-01 +\$pageview +\d+ +\d+ +-1 +1 row of the source repeat/);
  assert.match(compared.out, /301 events in the source, 300 here; 1 difference, 0 not explained/);
  const again = await sluice.run([...words, ...history, '--apply', '--yes'], environment);
  assert.equal(again.code, 0, again.err);
  assert.equal(await countHere(importing.harness, id), 300);
});

test('a missing event is a difference without a reason', async (context) => {
  const owner = await importing.harness.newOrganization();
  const events = posthogEvents(31);
  const source = await openPosthogServer(source_key, events);
  context.after(source.close);
  const words = [...wordsOf(owner, source, 'missing'), '--history', 'api'];
  const environment = secretsOf('WEB_SHOP_TO_S3');
  const applied = await sluice.run([...words, '--apply', '--yes'], environment);
  assert.equal(applied.code, 0, applied.err);
  events.push({ ...events[1]!, uuid: uuidOf(999) });
  const compared = await sluice.run([...words, '--compare', '--json'], {});
  assert.equal(compared.code, 1);
  const { counts } = JSON.parse(compared.out);
  const left = counts.filter((one: any) => !one.is_explained);
  assert.deepEqual([left.length, left[0].difference, left[0].event], [1, -1, 'paid']);
});

test('a move from a second Sluice is killed, continues, and counts the same', async () => {
  const second = await openHarness({ config: { settle_seconds: 1 } });
  const url = await second.app.listen({ host: '127.0.0.1', port: 0 });
  const stopping = new AbortController();
  const counting = (async () => {
    while (!stopping.signal.aborted) {
      await countDownloads(second.deps.engine, stopping.signal);
      await pause(200);
    }
  })();
  try {
    const there = await second.newOrganization({ name: 'Moving out' });
    await newExport(there, { name: 'Hourly' });
    const events = Array.from({ length: 24_000 }, (_, number) => ({
      event: ['$pageview', 'paid', 'signup'][number % 3],
      distinct_id: `person ${number % 500}`,
      uuid: uuidOf(number),
      timestamp: `2026-03-0${1 + (number % 3)}T10:00:00Z`,
      properties: { number },
    }));
    const base = `/api/projects/${there.project.id}/events/`;
    for (let at = 0; at < events.length; at += 6_000)
      await there.ask('POST', base, { events: events.slice(at, at + 6_000) });
    const owner = await importing.harness.newOrganization();
    const folder = join(importing.folder, 'second');
    const words = [
      'migrate',
      'posthog',
      '--from',
      url,
      '--from-key',
      there.key,
      '--url',
      importing.url,
      '--key',
      owner.key,
      '--folder',
      folder,
      '--organization',
      owner.organization.id,
      '--since',
      '2026-02-20',
      '--until',
      '2026-03-08',
      '--history',
      'api',
    ];
    const refused = await sluice.run(words.with(words.indexOf(there.key), 'slk_other'), {});
    assert.deepEqual([refused.code, /refused the key of --from-key/.test(refused.err)], [4, true]);
    const killed = await runSluice([...words, '--apply', '--yes'], {}, async (kill) => {
      // The history is asked for, and comes within a second on a quiet machine.
      await eventually('no history is asked for', async () => {
        const { body } = await there.ask(
          'GET',
          `/api/projects/${there.project.id}/file_downloads/`,
        );
        return body.results.length > 0;
      });
      kill('SIGKILL');
    });
    assert.equal(killed.code, null);
    const first = await sluice.run([...words, '--compare'], {});
    const applied = await sluice.run([...words, '--apply', '--yes'], {});
    assert.equal(applied.code, 0, applied.err + applied.out);
    assert.match(applied.out, /^Sluice, Moving out: /m);
    const compared = await sluice.run([...words, '--compare'], {});
    assert.equal(compared.code, 0, compared.out);
    assert.match(compared.out, /24,000 events in the source, 24,000 here; 0 differences/);
    assert.doesNotMatch(first.out, /24,000 here/, 'the kill came too late');
    assert.ok(existsSync(join(folder, 'brought.jsonl')));
    // Without days the range ends tomorrow, and no source has events of a time to come.
    const timestamp = new Date(Date.now() - 60_000).toISOString();
    await there.ask('POST', base, { events: [{ event: 'late', distinct_id: 'a', timestamp }] });
    const recent = words.toSpliced(words.indexOf('--since'), 4);
    const late = await sluice.run([...recent, '--apply', '--yes'], {});
    assert.deepEqual([late.code, /: 1 event stored/.test(late.out)], [0, true], late.err);
  } finally {
    stopping.abort();
    await counting;
    await second.close();
  }
});

test('a RudderStack workspace comes with its stores, and its raw files as history', async () => {
  const owner = await importing.harness.newOrganization();
  const workspace = {
    workspaceId: 'w',
    sources: [
      {
        id: 's',
        name: 'Site',
        writeKey: 'k',
        destinations: [
          {
            name: 'Lake',
            config: { bucketName: 'acme-lake', region: 'eu-central-1', accessKeyID: 'AKIAX' },
            destinationDefinition: { name: 'S3', config: { secretKeys: ['accessKey'] } },
          },
          { name: 'Old', config: {}, destinationDefinition: { name: 'GAINSIGHT_PX' } },
        ],
      },
    ],
  };
  const from = await importing.put('workspace.json', JSON.stringify(workspace));
  const call = (number: number) =>
    JSON.stringify({
      type: 'track',
      event: 'paid',
      messageId: `m ${number}`,
      userId: `u ${number % 9}`,
      originalTimestamp: '2026-03-02T10:00:00.000Z',
      properties: { number },
    });
  const lines = Array.from({ length: 100 }, (_, number) => call(number % 90)).join('\n');
  const files = join(importing.folder, 'raw');
  mkdirSync(files);
  await importing.put('raw/03-02-2026.1.json.gz', gzipSync(lines));
  const words = [
    'migrate',
    'rudderstack',
    '--from',
    from,
    '--url',
    importing.url,
    '--key',
    owner.key,
    '--organization',
    owner.organization.id,
    '--folder',
    join(importing.folder, 'rudder'),
    '--since',
    '2026-03-01',
    '--until',
    '2026-03-04',
    '--history',
    files,
  ];
  const environment = secretsOf('SITE_LAKE');
  const applied = await sluice.run([...words, '--apply', '--yes'], environment);
  assert.equal(applied.code, 0, applied.err + applied.out);
  assert.match(applied.out, /destination Old \(GAINSIGHT_PX\): not moved/);
  const compared = await sluice.run([...words, '--compare'], {});
  assert.equal(compared.code, 0, compared.out);
  assert.match(compared.out, /100 events in the source, 90 here; 1 difference, 0 not explained/);
});

test('a Segment workspace brings tools with their mappings, switched off', async (context) => {
  const owner = await importing.harness.newOrganization();
  const source = await openSegmentServer(source_key);
  context.after(source.close);
  const words = [
    'migrate',
    'segment',
    '--from',
    source.url,
    '--from-key',
    source_key,
    '--url',
    importing.url,
    '--key',
    owner.key,
    '--organization',
    owner.organization.id,
    '--folder',
    join(importing.folder, 'segment'),
    '--apply',
    '--yes',
  ];
  const environment = { WEB_ORDERS_TO_US_SHAREDSECRET: 'shared' };
  const applied = await sluice.run(words, environment);
  assert.equal(applied.code, 0, applied.err + applied.out);
  assert.match(applied.out, /2 projects, 1 person to invite, .* 1 tool with 1 setting \(off\)/);
  assert.match(applied.out, /Amazon S3 \(amazon-s3\): not moved. Create an export to S3/);
  assert.match(applied.out, /1 warehouse: not moved/);
  const all = await owner.ask('GET', `/api/organizations/${owner.organization.id}/projects/`);
  const { id } = all.body.results.find(({ name }: { name: string }) => name === 'Web');
  const configs = await owner.ask('GET', `/api/projects/${id}/plugin_configs/`);
  const [config] = configs.body.results;
  assert.equal(config.enabled, false);
  assert.deepEqual(JSON.parse(config.config.mappings), [
    {
      name: 'Send orders',
      partnerAction: 'send',
      subscribe: 'type = "track" and event = "Order Completed"',
      mapping: { url: 'https://example.com/in', method: 'POST', data: { '@path': '$.' } },
    },
  ]);
  assert.ok(!JSON.stringify(config).includes('shared"'), 'the secret is sealed');
});
