import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { any_character, any_grapheme } from '../../../../test/factories/any_character.ts';
import type { TxtAnswer, UnansweredReason } from '../../../platform/dns/txt_answer.ts';
import { challengeName, isChallengeMet, judgeAnswer, newChallenge } from './challenge.ts';

const challenge = newChallenge();
const name = '_sluice-challenge.example.com';
const judge = (answer: TxtAnswer) => judgeAnswer('example.com', challenge, answer);

test('a challenge is 32 random bytes, safe to paste', () => {
  assert.match(challenge, /^[A-Za-z0-9_-]{43}$/);
  assert.notEqual(newChallenge(), challenge);
  assert.equal(challengeName('example.com'), name);
});

const records: [title: string, records: string[], met: boolean][] = [
  ['the challenge', [challenge], true],
  ['among others', ['v=spf1 -all', challenge, 'x'], true],
  ['whitespace around it', [` \t${challenge}\r\n`], true],
  ['quotes around it', [`"${challenge}"`], true],
  ['quotes and whitespace', [` " ${challenge} " `], true],
  ['two pairs of quotes', [`""${challenge}""`], false],
  ['a quote on one side', [`"${challenge}`], false],
  ['single quotes', [`'${challenge}'`], false],
  ['another case', [challenge.toUpperCase()], challenge.toUpperCase() === challenge],
  ['a prefix', [`challenge=${challenge}`], false],
  ['a part of it', [challenge.slice(1)], false],
  ['split over two records', [challenge.slice(0, 20), challenge.slice(20)], false],
  ['a byte that is not UTF-8', [`${challenge}\uFFFD`], false],
  ['an empty record', [''], false],
  ['a quote alone', ['"'], false],
  ['no record', [], false],
];
for (const [title, values, met] of records)
  test(`is it met: ${title}`, () => assert.equal(isChallengeMet(values, challenge), met));

const reasons: [answer: TxtAnswer, outcome: string, reason: string | RegExp][] = [
  [
    { outcome: 'found', records: ['x', challenge] },
    'met',
    `The TXT record at ${name} has the challenge.`,
  ],
  [
    { outcome: 'found', records: ['google=1'] },
    'missing',
    `The TXT record at ${name} has another value than the challenge; it begins with ` +
      '“google=1”. Set it to the challenge.',
  ],
  [
    { outcome: 'found', records: ['', 'google=1'] },
    'missing',
    `2 TXT records exist at ${name}, but none is the challenge; one begins with “google=1”. ` +
      'Add a record whose value is the challenge.',
  ],
  [
    { outcome: 'found', records: [''] },
    'missing',
    `The TXT record at ${name} is empty. Set it to the challenge.`,
  ],
  [
    { outcome: 'found', records: [' ', ''] },
    'missing',
    `2 TXT records exist at ${name}, but none is the challenge. ` +
      'Add a record whose value is the challenge.',
  ],
  [
    { outcome: 'found', records: [`challenge=${challenge}`] },
    'missing',
    /contains more than the challenge/,
  ],
  [{ outcome: 'no_records' }, 'missing', /has no TXT record\. Add one/],
  [{ outcome: 'no_such_name' }, 'missing', /does not exist\. Add a TXT record/],
  ...(
    [
      ['servfail', /SERVFAIL/],
      ['refused', /refuses/],
      ['malformed', /cannot be read/],
      ['alias_loop', /CNAME/],
      ['timeout', /in time/],
      ['unreachable', /cannot reach a DNS server/],
    ] as [UnansweredReason, RegExp][]
  ).map(([reason, sentence]): [TxtAnswer, string, RegExp] => [
    { outcome: 'unanswered', reason },
    'unanswered',
    sentence,
  ]),
];
for (const [answer, outcome, reason] of reasons) {
  test(`is judged: ${JSON.stringify(answer).slice(0, 60)}`, () => {
    const judged = judge(answer);
    assert.equal(judged.outcome, outcome);
    if (typeof reason === 'string') assert.equal(judged.reason, reason);
    else assert.match(judged.reason, reason);
    assert.ok(judged.reason.includes(name));
  });
}

test('a domain whose record could have no name is never met, and says so', () => {
  const exactly = (length: number) => `${'a.'.repeat(length).slice(0, length - 4)}.com`;
  const judged = (length: number) =>
    judgeAnswer(exactly(length), challenge, { outcome: 'found', records: [challenge] });
  assert.equal(judged(235).outcome, 'met');
  const { outcome, reason } = judged(236);
  assert.equal(outcome, 'missing');
  assert.match(reason, /has 254 characters, and DNS allows 253\. .* cannot be proved\.$/);
});

test('a foreign record shows at most 60 characters, none of which steers a terminal', () => {
  const shown = (record: string) =>
    /“(.*)”/su.exec(judge({ outcome: 'found', records: [record] }).reason)?.[1];
  assert.equal(shown('a\u001b[31mb\u0000\u202Ec\u2066d\ne'), 'a [31mb c d e');
  assert.equal(shown('x'.repeat(60)), 'x'.repeat(60));
  assert.equal(shown('x'.repeat(60_000)), `${'x'.repeat(59)}…`);
  assert.equal(shown('😀'.repeat(61)), `${'😀'.repeat(59)}…`);
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: any_character, maxLength: 200 }),
        fc.string({ unit: any_grapheme, maxLength: 200 }),
      ),
      (record) => {
        const text = shown(record) ?? '';
        assert.ok([...text].length <= 60 && text.isWellFormed());
        assert.doesNotMatch(text, /\p{C}|[\u2028\u2029]/u);
      },
    ),
  );
});
