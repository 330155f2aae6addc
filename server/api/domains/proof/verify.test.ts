import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DnsBehaviour, DnsRecord } from '../../../../test/servers/dns_server.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  openDomainWorld,
  proofNameOf,
  proofOf,
} from '../../../../test/factories/people/domains.ts';
import type { DomainRow } from '../schema.ts';

const world = aroundTests(openDomainWorld);

type Behave = (domain: DomainRow) => DnsBehaviour;
type Case = { title: string; behave: Behave; state: 'pending' | 'verified'; reason: RegExp };

const txt = (...strings: (string | Buffer)[]): DnsRecord => ({ type: 'TXT', strings });
const edited = (edit: (message: Buffer) => Buffer | void): Behave => {
  return (domain) => ({ records: [proofOf(domain)], edit: (message) => edit(message) ?? message });
};
const challenge = (form: (text: string) => DnsRecord[]): Behave => {
  return (domain) => ({ records: form(domain.verification_challenge) });
};

const verifies = /has the challenge/;
const answered: Case[] = [
  {
    title: 'the challenge',
    behave: challenge((text) => [txt(text)]),
    state: 'verified',
    reason: verifies,
  },
  {
    title: 'beside other records',
    behave: challenge((text) => [txt('v=spf1 -all'), txt(text), txt('x')]),
    state: 'verified',
    reason: verifies,
  },
  {
    title: 'split into strings',
    behave: challenge((text) => [txt(text.slice(0, 10), text.slice(10, 30), text.slice(30))]),
    state: 'verified',
    reason: verifies,
  },
  {
    title: 'in quotes and spaces',
    behave: challenge((text) => [txt(` "${text}" `)]),
    state: 'verified',
    reason: verifies,
  },
  {
    title: 'under an alias',
    behave: challenge((text) => [
      { type: 'CNAME', target: 'proof.test' },
      { ...txt(text), name: 'proof.test' },
    ]),
    state: 'verified',
    reason: verifies,
  },
  {
    title: 'cut off, whole over TCP',
    behave: (domain) => ({ records: [proofOf(domain)], truncated: true }),
    state: 'verified',
    reason: verifies,
  },
  {
    title: 'slow, in time',
    behave: (domain) => ({ records: [proofOf(domain)], delay_ms: 50 }),
    state: 'verified',
    reason: verifies,
  },
  { title: 'no record', behave: () => ({}), state: 'pending', reason: /has no TXT record/ },
  {
    title: 'no such name',
    behave: () => ({ rcode: 'NXDOMAIN' }),
    state: 'pending',
    reason: /does not exist/,
  },
  {
    title: 'another value',
    behave: () => ({ records: [txt('something else')] }),
    state: 'pending',
    reason: /another value.*“something else”/,
  },
  {
    title: 'an old challenge',
    behave: () => ({ records: [txt('A'.repeat(43))] }),
    state: 'pending',
    reason: /another value/,
  },
  {
    title: 'several other values',
    behave: () => ({ records: [txt('a'), txt('b')] }),
    state: 'pending',
    reason: /2 TXT records exist at/,
  },
  {
    title: 'more than the challenge',
    behave: challenge((text) => [txt(`sluice=${text}`)]),
    state: 'pending',
    reason: /contains more than the challenge/,
  },
  {
    title: 'the challenge in another case',
    behave: challenge((text) => [txt(text.toUpperCase())]),
    state: 'pending',
    reason: /another value/,
  },
  {
    title: 'an empty record',
    behave: () => ({ records: [txt('')] }),
    state: 'pending',
    reason: /is empty/,
  },
  {
    title: 'control characters',
    behave: () => ({ records: [txt('a\0\u001B[31m\r\nb')] }),
    state: 'pending',
    reason: /“a \[31m b”/,
  },
  {
    title: 'bytes that are no text',
    behave: () => ({ records: [txt(Buffer.from([0xff, 0xfe, 0x00]))] }),
    state: 'pending',
    reason: /TXT record/,
  },
  {
    title: '60 KB of text',
    behave: () => ({ records: [txt(...Array<string>(235).fill('x'.repeat(255)))] }),
    state: 'pending',
    reason: /begins with “x{59}…”/,
  },
  {
    title: '300 records',
    behave: () => ({ records: Array.from({ length: 300 }, (_value, index) => txt(`r${index}`)) }),
    state: 'pending',
    reason: /300 TXT records exist/,
  },
  {
    title: 'another type',
    behave: () => ({ records: [{ type: 'A', address: '192.0.2.1' }] }),
    state: 'pending',
    reason: /has no TXT record/,
  },
  {
    title: 'an alias to nothing',
    behave: () => ({ records: [{ type: 'CNAME', target: 'nothing.test' }] }),
    state: 'pending',
    reason: /does not exist/,
  },
];

const unanswered: Omit<Case, 'state'>[] = [
  { title: 'SERVFAIL', behave: () => ({ rcode: 'SERVFAIL' }), reason: /SERVFAIL/ },
  { title: 'REFUSED', behave: () => ({ rcode: 'REFUSED' }), reason: /refuses to look up/ },
  { title: 'NOTIMP', behave: () => ({ rcode: 'NOTIMP' }), reason: /refuses to look up/ },
  { title: 'FORMERR', behave: () => ({ rcode: 'FORMERR' }), reason: /cannot be read/ },
  { title: 'silence', behave: () => ({ silent: 'always' }), reason: /no DNS answer/ },
  {
    title: 'too slow',
    behave: (domain) => ({ records: [proofOf(domain)], delay_ms: 5_000 }),
    reason: /no DNS answer/,
  },
  {
    title: 'TCP is closed',
    behave: (domain) => ({ records: [proofOf(domain)], truncated: true, tcp_closed: true }),
    reason: /cannot reach a DNS server/,
  },
  {
    title: 'a wrong transaction id',
    behave: edited((message) => void message.writeUInt16BE(message.readUInt16BE(0) ^ 1)),
    reason: /no DNS answer/,
  },
  {
    title: 'an answer to another question',
    behave: edited((message) => void (message[13]! ^= 1)),
    reason: /no DNS answer/,
  },
  {
    title: 'garbage',
    behave: edited(() => Buffer.from('GET / HTTP/1.1\r\n\r\n')),
    reason: /cannot be read/,
  },
  {
    title: 'a piece of a header',
    behave: edited((message) => message.subarray(0, 5)),
    reason: /cannot be read/,
  },
  {
    title: 'the end is missing',
    behave: edited((message) => message.subarray(0, -3)),
    reason: /cannot be read/,
  },
  {
    title: 'a record without a string',
    behave: () => ({ records: [txt()] }),
    reason: /cannot be read/,
  },
  {
    title: 'aliases in a circle',
    behave: ({ domain }) => ({ records: [{ type: 'CNAME', target: `circle.${domain}` }] }),
    reason: /form a cycle/,
  },
];

test('the answer of DNS decides, and a missing answer is no error', async () => {
  const home = await world.harness.newOrganization();
  const [dns] = world.resolvers;
  const outcomes = await Promise.all(
    [...answered, ...unanswered.map((one) => ({ ...one, state: 'pending' as const }))].map(
      async ({ title, behave, state, reason }) => {
        const domain = await world.claim(home);
        dns!.set(proofNameOf(domain), behave(domain));
        dns!.set(`circle.${domain.domain}`, {
          records: [{ type: 'CNAME', target: proofNameOf(domain) }],
        });
        return { title, state, reason, verified: await world.verify(home, domain) };
      },
    ),
  );
  for (const { title, state, reason, verified } of outcomes) {
    assert.deepEqual(
      [verified.verification.state, verified.is_verified, verified.verified_at !== null],
      [state, state === 'verified', state === 'verified'],
      title,
    );
    assert.match(verified.verification.reason, reason, title);
    assert.equal(verified.verification.last_checked_at, '2030-01-01T00:00:00.000000Z', title);
  }
});

test('a verified domain stays so whatever goes wrong with DNS, and says what does', async () => {
  const home = await world.harness.newOrganization();
  const [dns] = world.resolvers;
  await Promise.all(
    unanswered.map(async ({ title, behave, reason }) => {
      const domain = await world.claim(home);
      const name = proofNameOf(domain);
      dns!.set(name, { records: [proofOf(domain)] });
      assert.equal((await world.verify(home, domain)).is_verified, true, title);
      dns!.set(name, behave(domain));
      dns!.set(`circle.${domain.domain}`, { records: [{ type: 'CNAME', target: name }] });
      const { is_verified, verification } = await world.verify(home, domain);
      assert.equal(is_verified, true, title);
      assert.match(verification.reason, reason, title);
      assert.equal(verification.next_check_at, '2030-01-02T00:00:00.000000Z', title);
    }),
  );
});

test('a network without DNS servers causes no error', async () => {
  const lonely = await openDomainWorld();
  await Promise.all(lonely.resolvers.map((resolver) => resolver.close()));
  lonely.resolvers.length = 0;
  const home = await lonely.harness.newOrganization();
  const { verification } = await lonely.verify(home, await lonely.claim(home));
  assert.equal(verification.state, 'pending');
  assert.match(verification.reason, /cannot reach a DNS server/);
  await lonely.close();
});
