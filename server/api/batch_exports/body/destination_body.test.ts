import assert from 'node:assert/strict';
import { test } from 'node:test';
import { destinations } from '../../../engine/destinations/index.ts';
import { completedConfig } from './destination_body.ts';

const odd_values: unknown[] = [
  null,
  true,
  '',
  'x',
  '$1',
  '\0',
  -1,
  1e300,
  [],
  [null],
  [[]],
  ['x', 1],
  {},
  { undefined: null },
  { a: [] },
  { a: { b: 'c' } },
  { a: 'b', c: null },
  { a: 'é' },
];
const rules = { has_environment_credentials: false };

for (const definition of destinations)
  test(`${definition.type}: whatever a key holds, the answer is violations by name`, () => {
    const keys = Object.keys(definition.config.properties);
    const others = Object.fromEntries(keys.map((key) => [key, 'x']));
    for (const key of keys)
      for (const value of odd_values)
        for (const base of [{}, others]) {
          const { violations } = completedConfig(definition, { ...base, [key]: value }, rules);
          for (const one of violations)
            assert.match(one.attr ?? '', /^destination__config__./, JSON.stringify([key, value]));
        }
  });

test('a header without a value is named, and what else is wrong beside it', () => {
  const http = destinations.find((one) => one.type === 'HTTP')!;
  const config = { url: 'ftp://host/', headers: { a: null } };
  const { violations } = completedConfig(http, config, rules);
  assert.deepEqual(
    violations.map((one) => one.attr),
    ['destination__config__headers__a', 'destination__config__url'],
  );
});
