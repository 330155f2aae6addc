import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readErrors } from '../../scripts/site/error_pages.ts';
import { relativeAddress, replaceLinks } from '../../scripts/site/links.ts';
import { findPages } from '../../scripts/site/pages.ts';
import { readGroups } from '../../scripts/site/sidebar.ts';
import { root } from '../house/source_files.ts';
import { builtPages, builtText, openSearch } from './built_site.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Questions of a data engineer, what they type, and the page that must be found first. */
const questions = [
  ['How do I load events into my PostgreSQL?', 'export to postgres', 'destinations/postgres'],
  ['How do I get an Iceberg table that DuckDB reads?', 'query events with duckdb', 'lake'],
  ['How do I deliver last year?', 'backfill past data', 'backfills'],
  ['How do I keep the newest row of each order?', 'one row per key', 'write_modes'],
  ['Why did the destination get no rows at night?', 'rows are missing', 'symptoms/rows_missing'],
  ['What does this error mean?', 'too_many_connections', 'errors/too_many_connections'],
  ['What do I do with authentication_failed?', 'authentication_failed', 'errors/authentication'],
  ['How do I send events from Python with Segment?', 'segment python', 'sdks/segment'],
  ['Why are my events not there?', 'events do not arrive', 'symptoms/events_do_not_arrive'],
  ['How much disk do a million events need?', 'disk size memory', 'sizing'],
  ['How do I prove that nothing was lost?', 'prove what was delivered receipt', 'receipts'],
  ['How do I delete a person everywhere?', 'erase a person', 'erasure'],
  ['How do I export only some columns?', 'export other columns', 'export_queries'],
  ['How do I hear of a failed export?', 'notice export fails', 'notices'],
  ['How do I restore a backup?', 'restore backup', 'backup'],
  ['What is a slot?', 'slot of a schedule', 'states'],
  ['How do I run a failed delivery again?', 'retry a failed run', 'pausing_exports'],
  ['What do I do when the disk is full?', 'the disk is full', 'symptoms/disk_is_full'],
  ['How do I send a Parquet file to S3?', 's3 parquet', 'destinations/s3'],
  ['How do I restore a backup?', 'how do i restore a backup', 'backup'],
  ['How do I put a proxy in front?', 'how do i put a web proxy in front of it', 'proxies'],
  ['How large must the machine be?', 'how much memory does it need', 'sizing'],
  [
    'How old are rows in the warehouse?',
    'delay until data is in the warehouse',
    'watching_exports',
  ],
  ['Why did rows come twice?', 'duplicate rows in the warehouse', 'symptoms/rows_missing_or_twice'],
  ['How do I check what arrived?', 'check that the data arrived', 'verification'],
  ['How do I page somebody?', 'alert when an export fails', 'notices'],
  ['How do I set the time zone?', 'timezone of daily export', 'schedules'],
  ['How do I upgrade?', 'upgrade without downtime', 'upgrade'],
  ['Why is my own network refused?', 'connection refused private address', 'failing_exports'],
  ['How do I answer a GDPR request?', 'gdpr erase a user', 'erasure'],
  ['How do I come from Segment?', 'move from segment', 'moving_in'],
  ['How do I get out?', 'leave sluice export everything', 'leaving'],
  ['Why not Airbyte?', 'compare with airbyte', 'comparison'],
  ['Does it work like Terraform?', 'terraform', 'configuration_as_code'],
  ['How do I keep secrets in files?', 'read secret from file', 'configuration'],
  ['How do I get columns?', 'json properties as columns', 'typed_columns'],
] as const;

test('the search answers the questions of a data engineer by its first hit', async () => {
  const search = await openSearch();
  const wrong = questions.flatMap(([question, query, page]) => {
    const [first] = search(query);
    return first?.replace(/^.*?\/?(?=\w)/, '').startsWith(page) === true
      ? []
      : [`${question} "${query}" finds ${search(query).slice(0, 4).join(', ')}, not ${page}`];
  });
  assert.deepEqual(wrong, []);
  assert.deepEqual(search('zzzzqqqq'), []);
});

test('the search leaves out decisions and pages about the code', async () => {
  const search = await openSearch();
  const found = search('decision rectangles ledger consequences changelog');
  assert.ok(found.length > 0);
  assert.deepEqual(
    found.filter((id) => /^\/?(?:decisions|project|files)\//.test(id)),
    [],
  );
});

test('the navigation has each page of docs/ but decisions', () => {
  const linked = new Set(
    readGroups(read('docs/README.md')).flatMap(({ items }) => items.map(({ link }) => link)),
  );
  const missing = [...findPages().pages.keys()].filter(
    (path) =>
      path.startsWith('docs/') &&
      !/^docs\/(?:decisions\/\d|README)/.test(path) &&
      !linked.has(path.slice('docs/'.length)),
  );
  assert.deepEqual(missing, []);
});

test('each error of a run has a page with its cause and its cure', () => {
  const errors = readErrors(read('docs/errors.md'));
  assert.ok(errors.length > 40);
  const pages = new Set(builtPages());
  assert.deepEqual(
    errors.filter(({ code }) => !pages.has(`errors/${code}`)),
    [],
  );
  const page = builtText('errors/throttled.html');
  for (const part of ['Cause', 'Cure', 'The store asks for fewer requests'])
    assert.ok(page.includes(part), part);
  assert.ok(builtText('errors.html').includes('href="./errors/throttled.html"'));
});

test('no page has a script or a style of its own, or an address of another server', () => {
  for (const page of builtPages()) {
    const html = builtText(`${page}.html`);
    assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|<style|\sstyle="|\son\w+="/, page);
    for (const [, address] of html.matchAll(/<(?:script|link|img)[^>]*?(?:src|href)="([^"]*)"/g))
      assert.match(address!, /^(?:\.{1,2}\/|assets\/|icon)/, page);
  }
});

test('links are replaced outside of code, and a link without a page becomes its text', () => {
  const text =
    '[a](x.md#b) `[a](x.md)` [gone](y.md) ![p](p.png)\n```\n[a](x.md)\n```\n[o](https://o)';
  assert.equal(
    replaceLinks('docs/one.md', text, (path) => (path === 'docs/y.md' ? undefined : `<${path}>`)),
    '[a](<docs/x.md>#b) `[a](x.md)` gone ![p](<docs/p.png>)\n```\n[a](x.md)\n```\n[o](https://o)',
  );
  assert.equal(relativeAddress('sdks/posthog.md', 'events.md'), '../events.md');
  assert.equal(relativeAddress('events.md', 'sdks/posthog.md'), './sdks/posthog.md');
});
