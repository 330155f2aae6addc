import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listSourceFiles } from './source_files.ts';

const nouns = [
  'attempts|columns|days|deliveries|events|exports|files|hours|intervals|keys|members|minutes',
  'people|persons|records|rows|runs|seconds|slices|slots|tables|versions',
].join('|');
const in_template = new RegExp(String.raw`\$\{((?:[^{}]|\{[^{}]*\})*)\} (?:${nouns})\b`, 'g');

/** Numbers that are never one: bounds, times that settings hold, and branches for more than one. */
const is_never_one =
  /_max\b|seconds|rows_to_read|_ms\b|nominalLength|^runs$|all\.length|failures|addresses|events\.length|tables|padStart|holder/;
/** Code whose templates are SQL, or that is tried on generated text. */
const is_free = /\.test\.tsx?$|^(test|bench|scripts)\//;

test('a number that may be one has its noun by `counted`', () => {
  const found = listSourceFiles()
    .filter(({ path }) => !is_free.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(in_template)]
        .filter(([, value]) => !/counted\(/.test(value!) && !is_never_one.test(value!))
        .map(([whole]) => `${path}: ${whole}`),
    );
  assert.deepEqual(found, [], '`1 rows`: write counted(count, "row") of platform/counted.ts.');
});
