import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDnsServer } from '../../../test/servers/dns_server.ts';
import type { DnsBehaviour, DnsRecord } from '../../../test/servers/dns_server.ts';
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
const none: TxtAnswer = { outcome: 'no_records' };
const unknown: TxtAnswer = { outcome: 'no_such_name' };

/** Changes bytes of a finished message; the name that is asked for stands from the 13th byte on. */
const edited = (change: (message: Buffer) => void) => (message: Buffer) => {
  change(message);
  return message;
};
const upperCase = edited((message) => {
  const name_end = message.indexOf(0, 12);
  for (let at = 12; at < name_end; at += 1)
    if (message[at]! >= 97 && message[at]! <= 122) message[at]! -= 32;
});

const server = aroundTests(openDnsServer);

const resolvers = (servers: string[], time_limit_ms: number) =>
  openDns({ servers, time_limit_ms, log });

const faults: { title: string; behaviour: DnsBehaviour; expected: TxtAnswer; limit_ms?: number }[] =
  [
    { title: 'no record', behaviour: {}, expected: none },
    { title: 'one record', behaviour: { records: [txt('value')] }, expected: found('value') },
    {
      title: 'several records',
      behaviour: { records: [txt('b'), txt('a'), txt('v=spf1 -all')] },
      expected: found('b', 'a', 'v=spf1 -all'),
    },
    {
      title: 'the same record twice',
      behaviour: { records: [txt('a'), txt('a')] },
      expected: found('a'),
    },
    {
      title: 'split strings',
      behaviour: { records: [txt('ab', 'cd', 'e')] },
      expected: found('abcde'),
    },
    {
      title: 'a character split over two strings',
      behaviour: { records: [txt(Buffer.from([0xc3]), Buffer.from([0xa9]))] },
      expected: found('é'),
    },
    { title: 'an empty string', behaviour: { records: [txt('')] }, expected: found('') },
    {
      title: 'a record without a string',
      behaviour: { records: [txt()] },
      expected: unanswered('malformed'),
    },
    {
      title: 'whitespace around the value',
      behaviour: { records: [txt(' \tvalue\n')] },
      expected: found(' \tvalue\n'),
    },
    {
      title: 'quotes inside',
      behaviour: { records: [txt('"value" "two"')] },
      expected: found('"value" "two"'),
    },
    {
      title: 'a zero byte inside',
      behaviour: { records: [txt(Buffer.from('a\0b'))] },
      expected: found('a\0b'),
    },
    { title: 'UTF-8', behaviour: { records: [txt('Größe €')] }, expected: found('Größe €') },
    {
      title: 'bytes that are not UTF-8',
      behaviour: { records: [txt(Buffer.from([0xff, 0x41, 0xfe]))] },
      expected: found('\uFFFDA\uFFFD'),
    },
    {
      title: 'alias with its record',
      behaviour: { records: [alias('other.test'), { ...txt('value'), name: 'other.test' }] },
      expected: found('value'),
    },
    { title: 'alias to itself', behaviour: { records: [alias('case-14.test')] }, expected: none },
    {
      title: 'alias to a name that does not exist',
      behaviour: { records: [alias('missing.test')] },
      expected: unknown,
    },
    { title: 'NXDOMAIN', behaviour: { rcode: 'NXDOMAIN' }, expected: unknown },
    {
      title: 'NXDOMAIN beside a record',
      behaviour: { rcode: 'NXDOMAIN', records: [txt('value')] },
      expected: unknown,
    },
    { title: 'SERVFAIL', behaviour: { rcode: 'SERVFAIL' }, expected: unanswered('servfail') },
    { title: 'REFUSED', behaviour: { rcode: 'REFUSED' }, expected: unanswered('refused') },
    { title: 'NOTIMP', behaviour: { rcode: 'NOTIMP' }, expected: unanswered('refused') },
    { title: 'FORMERR', behaviour: { rcode: 'FORMERR' }, expected: unanswered('malformed') },
    {
      title: 'silence',
      behaviour: { silent: 'always' },
      expected: unanswered('timeout'),
      limit_ms: short_limit_ms,
    },
    {
      title: 'slow, within the limit',
      behaviour: { records: [txt('value')], delay_ms: 300 },
      expected: found('value'),
    },
    {
      title: 'slow, beyond the limit',
      behaviour: { records: [txt('v')], delay_ms: 2_000 },
      expected: unanswered('timeout'),
      limit_ms: short_limit_ms,
    },
    {
      title: 'truncated, whole over TCP',
      behaviour: { records: [txt('value')], truncated: true },
      expected: found('value'),
    },
    {
      title: 'truncated, TCP is closed',
      behaviour: { records: [txt('v')], truncated: true, tcp_closed: true },
      expected: unanswered('unreachable'),
    },
    {
      title: 'another type in the answer',
      behaviour: { records: [{ type: 'A', address: '192.0.2.1' }] },
      expected: none,
    },
    {
      title: '500 records',
      behaviour: { records: numbered(500) },
      expected: found(...numbered(500).map(({ text }) => text)),
    },
    {
      title: '60 KB in one record',
      behaviour: { records: [txt(...Array(235).fill('x'.repeat(255)))] },
      expected: found('x'.repeat(235 * 255)),
    },
    {
      title: 'the name in another case',
      behaviour: { records: [txt('value')], edit: upperCase },
      expected: found('value'),
    },
    {
      title: 'a wrong transaction id',
      behaviour: {
        records: [txt('value')],
        edit: edited((message) => message.writeUInt16BE(message.readUInt16BE(0) ^ 1)),
      },
      expected: unanswered('timeout'),
      limit_ms: short_limit_ms,
    },
    {
      title: 'an answer to another question',
      behaviour: { records: [txt('value')], edit: edited((message) => (message[13]! ^= 1)) },
      expected: unanswered('timeout'),
      limit_ms: short_limit_ms,
    },
    {
      title: 'garbage',
      behaviour: { edit: () => Buffer.from('GET / HTTP/1.1\r\n\r\n') },
      expected: unanswered('malformed'),
    },
    {
      title: 'five bytes',
      behaviour: { edit: (message) => message.subarray(0, 5) },
      expected: unanswered('malformed'),
    },
    {
      title: 'a header alone',
      behaviour: { edit: (message) => message.subarray(0, 12) },
      expected: unanswered('malformed'),
    },
    {
      title: 'the end is missing',
      behaviour: { records: [txt('value')], edit: (message) => message.subarray(0, -3) },
      expected: unanswered('malformed'),
    },
    {
      title: 'a string longer than its record',
      behaviour: {
        records: [txt('value')],
        edit: edited((message) => (message[message.length - 6] = 200)),
      },
      expected: unanswered('malformed'),
    },
    {
      title: 'a name that points to itself',
      behaviour: {
        records: [txt('value')],
        edit: edited((message) => message.writeUInt16BE(0xc00c, 12)),
      },
      expected: unanswered('malformed'),
    },
  ];

function numbered(count: number): (DnsRecord & { text: string })[] {
  return Array.from({ length: count }, (_value, index) => ({
    type: 'TXT',
    strings: [`record ${index}`],
    text: `record ${index}`,
  }));
}

for (const [index, { title, behaviour, expected, limit_ms }] of faults.entries()) {
  test(`one resolver: ${title}`, async () => {
    const name = `case-${index}.test`;
    server.set(name, behaviour);
    assert.deepEqual(
      (await resolvers([server.address], limit_ms ?? 5_000).lookupTxt(name)).answer,
      expected,
    );
  });
}
