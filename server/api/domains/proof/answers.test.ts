import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TxtAnswer } from '../../../platform/dns/txt_answer.ts';
import { shownAnswers } from './answers.ts';

const found = (record: string): TxtAnswer => ({ outcome: 'found', records: [record] });
const cases: [string, TxtAnswer, string, string, RegExp][] = [
  ['9.9.9.9', found('challenge'), '9.9.9.9', 'met', /has the challenge\.$/],
  ['9.9.9.9:5353', found('old'), '9.9.9.9', 'missing', /begins with “old”/],
  ['[2620:fe::fe]:53', { outcome: 'no_records' }, '2620:fe::fe', 'missing', /no TXT record/],
  ['2620:fe::fe', { outcome: 'no_such_name' }, '2620:fe::fe', 'missing', /does not exist/],
  ['10.0.0.2', found('challenge'), 'resolver 1 of the server', 'met', /has the challenge/],
  ['127.0.0.53', found('challenge'), 'resolver 1 of the server', 'met', /has the challenge/],
  ['[fd00::1]:53', found('challenge'), 'resolver 1 of the server', 'met', /has the challenge/],
  ['::ffff:192.168.0.1', found('x'), 'resolver 1 of the server', 'missing', /another value/],
  [
    '192.168.1.1:53',
    { outcome: 'unanswered', reason: 'unreachable' },
    'resolver 1 of the server',
    'unanswered',
    /^The server cannot reach this resolver\.$/,
  ],
  ['9.9.9.9', { outcome: 'unanswered', reason: 'servfail' }, '9.9.9.9', 'unanswered', /SERVFAIL/],
];

for (const [server, answer, resolver, outcome, detail] of cases) {
  test(`${server} that says ${JSON.stringify(answer)}`, () => {
    const [shown] = shownAnswers('a.test', 'challenge', [{ server, answer, took_ms: 12 }]);
    assert.deepEqual([shown!.resolver, shown!.outcome, shown!.took_ms], [resolver, outcome, 12]);
    assert.match(shown!.detail, detail);
  });
}
