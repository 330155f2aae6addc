import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { openDnsServer } from '../../../test/servers/dns_server.ts';
import type { DnsRecord } from '../../../test/servers/dns_server.ts';
import { silentLog } from '../log.ts';
import { openDns } from './dns.ts';
import type { TxtAnswer } from './txt_answer.ts';
import { aroundTests } from '../../../test/around_tests.ts';

const short_limit_ms = 400;
const log = silentLog();
const txt = (...strings: (string | Buffer)[]): DnsRecord => ({ type: 'TXT', strings });
const alias = (target: string): DnsRecord => ({ type: 'CNAME', target });
const found = (...records: string[]): TxtAnswer => ({ outcome: 'found', records });
const unanswered = (reason: (TxtAnswer & { outcome: 'unanswered' })['reason']): TxtAnswer => ({
  outcome: 'unanswered',
  reason,
});
const unknown: TxtAnswer = { outcome: 'no_such_name' };

const server = aroundTests(openDnsServer);

const resolvers = (servers: string[], time_limit_ms: number) =>
  openDns({ servers, time_limit_ms, log });

test('an alias that comes alone is followed, 8 at most', async () => {
  const dns = resolvers([server.address], 5_000);
  for (let step = 1; step <= 9; step += 1)
    server.set(`step-${step}.test`, { records: [alias(`step-${step - 1}.test`)] });
  server.set('step-0.test', { records: [txt('value')] });
  assert.deepEqual((await dns.lookupTxt('step-1.test')).answer, found('value'));
  assert.deepEqual((await dns.lookupTxt('step-8.test')).answer, found('value'));
  assert.deepEqual((await dns.lookupTxt('step-9.test')).answer, unanswered('alias_loop'));
});

test('aliases in a circle end at once, whatever their case', async () => {
  server.set('red.test', { records: [alias('BLUE.test')] });
  server.set('blue.test', { records: [alias('Red.test')] });
  const before = server.queries.length;
  assert.deepEqual(
    (await resolvers([server.address], 5_000).lookupTxt('red.test')).answer,
    unanswered('alias_loop'),
  );
  assert.equal(server.queries.length - before, 4);
});

test('a cut off answer is asked for over TCP', async () => {
  server.set('cut.test', { records: [txt('value')], truncated: true });
  await resolvers([server.address], 5_000).lookupTxt('cut.test');
  assert.deepEqual(
    server.queries.filter(({ name }) => name === 'cut.test'),
    [
      { name: 'cut.test', type: 'TXT', transport: 'udp' },
      { name: 'cut.test', type: 'TXT', transport: 'tcp' },
    ],
  );
});

test('the resolver remembers nothing between look-ups', async () => {
  const dns = resolvers([server.address], 5_000);
  server.set('changing.test', { records: [txt('old')] });
  assert.deepEqual((await dns.lookupTxt('changing.test')).answer, found('old'));
  server.set('changing.test', { records: [txt('new')] });
  assert.deepEqual((await dns.lookupTxt('changing.test')).answer, found('new'));
});

test('names that cannot be asked for are malformed, and no search domain is tried', async () => {
  const dns = resolvers([server.address], 5_000);
  for (const name of ['a..test', `${'x'.repeat(64)}.test`, `${'x.'.repeat(130)}test`])
    assert.deepEqual((await dns.lookupTxt(name)).answer, unanswered('malformed'), name);
  const before = server.queries.length;
  assert.deepEqual((await dns.lookupTxt('single')).answer, unknown);
  assert.equal(server.queries.length - before, 1);
});

test('no bytes that a resolver can send make it throw', async () => {
  const dns = resolvers([server.address], short_limit_ms);
  const bodies = fc.sample(fc.uint8Array({ maxLength: 200 }), { numRuns: 60, seed: 1 });
  const answers = await Promise.all(
    bodies.map((body, index) => {
      // With the id and the question in place, so that the rest is read.
      const keep = [0, 12, 12 + `noise-${index}.test`.length + 6][index % 3]!;
      server.set(`noise-${index}.test`, {
        edit: (message) => Buffer.concat([message.subarray(0, keep), body]),
      });
      return dns.lookupTxt(`noise-${index}.test`);
    }),
  );
  for (const {
    answer: { outcome },
  } of answers)
    assert.ok(['found', 'no_records', 'no_such_name', 'unanswered'].includes(outcome));
});

test('an abort ends the look-up with its reason, and no other one', async () => {
  const dns = resolvers([server.address], 5_000);
  server.set('slow.test', { records: [txt('value')], delay_ms: 300 });
  const aborted = new AbortController();
  const [given, ended] = [dns.lookupTxt('slow.test'), dns.lookupTxt('slow.test', aborted.signal)];
  aborted.abort(new Error('enough'));
  await assert.rejects(ended, /enough/);
  await assert.rejects(dns.lookupTxt('slow.test', aborted.signal), /enough/);
  assert.deepEqual((await given).answer, found('value'));
});

test('a server that is not an address is refused when the look-up is opened', () => {
  for (const wrong of ['dns.example.com', '192.0.2', '192.0.2.1:70000', '192.0.2.1:x', '']) {
    assert.throws(() => resolvers([wrong], 5_000), /is not the address of a DNS server/, wrong);
  }
  for (const right of [
    '192.0.2.1',
    '192.0.2.1:5353',
    '2001:db8::1',
    '[2001:db8::1]',
    '[2001:db8::1]:5353',
  ])
    resolvers([right], 5_000);
});
