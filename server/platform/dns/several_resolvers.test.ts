import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openDnsServer } from '../../../test/servers/dns_server.ts';
import type { DnsBehaviour, DnsServer } from '../../../test/servers/dns_server.ts';
import { silentLog } from '../log.ts';
import { openDns } from './dns.ts';
import { combineAnswers } from './txt_answer.ts';
import type { TxtAnswer, UnansweredReason } from './txt_answer.ts';

const log = silentLog();
const value: DnsBehaviour = { records: [{ type: 'TXT', strings: ['value'] }] };
const found: TxtAnswer = { outcome: 'found', records: ['value'] };
const silence: DnsBehaviour = { silent: 'always' };

let servers: DnsServer[];
let closed_address: string;
before(async () => {
  servers = await Promise.all([1, 2, 3, 4].map(() => openDnsServer()));
  const gone = await openDnsServer();
  closed_address = gone.address;
  await gone.close();
});
after(() => Promise.all(servers.map((server) => server.close())));

const cases: { title: string; behaviours: DnsBehaviour[]; expected: TxtAnswer }[] = [
  {
    title: 'one of four has the record',
    behaviours: [value, {}, { rcode: 'NXDOMAIN' }, { rcode: 'SERVFAIL' }],
    expected: found,
  },
  {
    title: 'an old and a new value are both given',
    behaviours: [value, { records: [{ type: 'TXT', strings: ['old'] }] }, value, value],
    expected: { outcome: 'found', records: ['value', 'old'] },
  },
  {
    title: 'a name that one resolver knows exists',
    behaviours: [{ rcode: 'NXDOMAIN' }, {}, { rcode: 'NXDOMAIN' }, { rcode: 'REFUSED' }],
    expected: { outcome: 'no_records' },
  },
  {
    title: 'a failing resolver does not spoil the answer of another',
    behaviours: [
      { rcode: 'SERVFAIL' },
      { rcode: 'REFUSED' },
      { rcode: 'NXDOMAIN' },
      { edit: () => Buffer.from('?') },
    ],
    expected: { outcome: 'no_such_name' },
  },
  {
    title: 'all fail',
    behaviours: [
      { rcode: 'REFUSED' },
      { edit: () => Buffer.from('?') },
      { rcode: 'SERVFAIL' },
      { rcode: 'REFUSED' },
    ],
    expected: { outcome: 'unanswered', reason: 'servfail' },
  },
  {
    title: 'the one that is slow has it',
    behaviours: [{ ...value, delay_ms: 900 }, { rcode: 'NXDOMAIN' }, {}, {}],
    expected: found,
  },
];

for (const [index, { title, behaviours, expected }] of cases.entries()) {
  test(title, async () => {
    const name = `case-${index}.test`;
    for (const [at, behaviour] of behaviours.entries()) servers[at]!.set(name, behaviour);
    const dns = openDns({
      servers: servers.map(({ address }) => address),
      time_limit_ms: 2_000,
      log,
    });
    assert.deepEqual((await dns.lookupTxt(name)).answer, expected);
  });
}

test('with half of the resolvers dead a record is found without waiting for them', async () => {
  for (const server of servers) server.set('half.test', server === servers[3] ? value : silence);
  const dns = openDns({
    servers: [closed_address, ...servers.map(({ address }) => address)],
    time_limit_ms: 20_000,
    log,
  });
  const begun = performance.now();
  assert.deepEqual((await dns.lookupTxt('half.test')).answer, found);
  assert.ok(performance.now() - begun < 10_000);
});

test('with half of the resolvers dead, no record is said within the limit', async () => {
  for (const server of servers) server.set('nothing.test', server === servers[3] ? {} : silence);
  const dns = openDns({
    servers: [closed_address, ...servers.map(({ address }) => address)],
    time_limit_ms: 500,
    log,
  });
  const begun = performance.now();
  assert.deepEqual((await dns.lookupTxt('nothing.test')).answer, { outcome: 'no_records' });
  assert.ok(performance.now() - begun < 1_500);
});

test('each resolver is listed with its answer, in the order of the settings', async () => {
  servers.forEach((server, index) => server.set('each.test', index === 1 ? value : {}));
  const addresses = [closed_address, ...servers.slice(0, 2).map(({ address }) => address)];
  const { answers } = await openDns({ servers: addresses, log }).lookupTxt('each.test');
  assert.deepEqual(
    answers.map(({ server, answer }) => [server, answer]),
    [
      [closed_address, { outcome: 'unanswered', reason: 'unreachable' }],
      [addresses[1], { outcome: 'no_records' }],
      [addresses[2], found],
    ],
  );
  assert.ok(answers.every(({ took_ms }) => Number.isInteger(took_ms) && took_ms >= 0));
});

test('a closed port is unreachable, at once', async () => {
  assert.deepEqual((await openDns({ servers: [closed_address], log }).lookupTxt('a.test')).answer, {
    outcome: 'unanswered',
    reason: 'unreachable',
  });
});

test('a truncated answer of a server without TCP is unanswered', async () => {
  const server = await openDnsServer({ tcp: false });
  server.set('cut.test', { ...value, truncated: true });
  assert.deepEqual(
    (await openDns({ servers: [server.address], log }).lookupTxt('cut.test')).answer,
    {
      outcome: 'unanswered',
      reason: 'unreachable',
    },
  );
  await server.close();
});

test('the reason that says most about the name wins', () => {
  const reasons: UnansweredReason[] = [
    'alias_loop',
    'servfail',
    'refused',
    'malformed',
    'timeout',
    'unreachable',
  ];
  for (const [index, reason] of reasons.entries()) {
    const answers = reasons
      .slice(index)
      .map((one): TxtAnswer => ({ outcome: 'unanswered', reason: one }));
    assert.deepEqual(combineAnswers(answers.toReversed()), { outcome: 'unanswered', reason });
  }
  assert.deepEqual(combineAnswers([]), { outcome: 'unanswered', reason: 'unreachable' });
});
