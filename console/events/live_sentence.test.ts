import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveSentence } from './live_sentence.ts';
import type { LiveState } from './live_sentence.ts';

const cases: [state: Partial<LiveState>, sentence: RegExp][] = [
  [{}, /^The newest events appear/],
  [{ is_filtered: true }, /newest matching events appear/],
  [{ is_filtered: true, is_empty: true }, /^No recent event matches/],
  [{ is_paused: true, is_filtered: true, is_empty: true }, /^Paused/],
];
for (const [state, sentence] of cases)
  test(`a live list that is ${JSON.stringify(state)} says so`, () => {
    const all = { is_paused: false, is_filtered: false, is_empty: false, ...state };
    assert.match(liveSentence(all), sentence);
  });
