import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barsOf } from './bars.ts';
import { fitWords, percent, typeWords } from './type_words.ts';

test('a share that is nearly all or nothing does not read as that', () => {
  const cases: [number, string][] = [
    [0, '0 %'],
    [0.0001, '< 1 %'],
    [0.5, '50 %'],
    [0.996, '> 99 %'],
    [1, '100 %'],
  ];
  for (const [share, words] of cases) assert.equal(percent(share), words);
});

test('several types have their shares, one has none', () => {
  const types = [
    { type: 'integer' as const, events: 98 },
    { type: 'text' as const, events: 2 },
  ];
  assert.deepEqual(typeWords({ events: 100, types }), [
    { word: 'integer', share: '98 %' },
    { word: 'text', share: '2 %' },
  ]);
  assert.deepEqual(typeWords({ events: 98, types: types.slice(0, 1) }), [
    { word: 'integer', share: undefined },
  ]);
});

test('how many values fit is a sentence', () => {
  const cases: [number | null, number | null, string | null][] = [
    [null, null, null],
    [0, 0, 'No values yet'],
    [1, 0, 'The only value fits'],
    [10_480, 0, 'All 10,480 values fit'],
    [10_480, 12, '12 of 10,480 values do not fit'],
    [10_480, 1, '1 of 10,480 values does not fit'],
  ];
  for (const [values, misfits, words] of cases) assert.equal(fitWords(values, misfits), words);
});

test('a bar is as high as its day had events, and a day without any is a line', () => {
  const { path, label } = barsOf([0, 1, 200, 100], { width: 8, height: 10 });
  assert.equal(path, 'M0 9.5h1.5v0.5h-1.5zM2 9h1.5v1h-1.5zM4 0h1.5v10h-1.5zM6 5h1.5v5h-1.5z');
  assert.equal(label, 'The last 4 days: at most 200 events a day, today 100');
});
