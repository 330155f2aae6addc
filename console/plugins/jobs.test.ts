import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobsOf, payloadOf } from './jobs.ts';

const [job, ...others] = jobsOf({
  again: {
    payload: {
      since: { type: 'date', required: true, title: 'Since' },
      days: { type: 'daterange' },
      count: { type: 'number', default: 5 },
      all: { type: 'boolean' },
      more: { type: 'json', default: { a: 1 } },
      name: {},
      hidden: { type: 'string', staff_only: true },
      none: 5,
    },
  },
  plain: null,
});

test('jobs and the fields of what they are given are found', () => {
  assert.deepEqual(
    job!.fields.map(({ key, label, type, is_required, initial }) =>
      [key, label, type, is_required, initial].join(),
    ),
    [
      'since,Since,date,true,',
      'days,days,daterange,false,',
      'count,count,number,false,5',
      'all,all,boolean,false,',
      'more,more,json,false,{"a":1}',
      'name,name,string,false,',
    ],
  );
  assert.deepEqual(others, [{ name: 'plain', fields: [] }]);
  for (const none of [null, [], 'text', 5]) assert.deepEqual(jobsOf(none), []);
});

test('a job gets values of the types it asks for, and no empty ones', () => {
  const sent = (values: Record<string, string | string[]>) => payloadOf(job!.fields, values);
  assert.deepEqual(sent({ payload__all: [], payload__name: '' }), { all: false });
  assert.deepEqual(
    sent({
      payload__since: '2026-01-01',
      payload__days: '2026-01-01',
      payload__days__1: '2026-01-02',
      payload__count: '7',
      payload__all: ['yes'],
      payload__more: '[1]',
      payload__hidden: 'x',
    }),
    { since: '2026-01-01', days: ['2026-01-01', '2026-01-02'], count: 7, all: true, more: [1] },
  );
  // As numbers these would be null, which leaves the default, and 0.
  for (const count of ['1e400', ' ']) assert.equal(sent({ payload__count: count })['count'], count);
  assert.deepEqual(sent({ payload__count: 'many', payload__more: '{' }), {
    all: false,
    count: 'many',
    more: '{',
  });
});
