import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../../test/depth.ts';
import type { ConfigField } from '../plugin.ts';
import { configFaults } from './manifest.ts';

test('a configuration against its fields', () => {
  const attachment = { file_name: 'a.json', content_type: 'application/json', contents: 'e30=' };
  const fields: ConfigField[] = [
    { markdown: 'x' },
    { key: 'must', required: true },
    { key: 'kind', type: 'choice', choices: ['one', 'two'], default: 'one' },
    { key: 'two_only', required_if: [['kind', 'two']] },
    { key: 'hidden', required: true, visible_if: [['kind', 'two'], ['must']] },
    { key: 'document', type: 'json' },
    { key: 'file', type: 'attachment' },
    { key: 'defaulted', required: true, default: 'd' },
  ];
  const cases: [Record<string, unknown>, string[]][] = [
    [{ must: 'x' }, []],
    [{}, ['must required']],
    [{ must: '' }, ['must required']],
    [{ must: null }, ['must required']],
    [{ must: 'x', defaulted: '' }, ['defaulted required']],
    [{ must: 'x', kind: 'two' }, ['two_only required', 'hidden required']],
    [{ must: 'x', kind: 'two', two_only: 'a', hidden: 'b' }, []],
    [{ must: 'x', kind: 'three' }, ['kind invalid_choice']],
    [{ must: 'x', kind: '' }, []],
    [{ must: 1 }, ['must invalid_input']],
    [{ must: 'x', document: '{"a":1}' }, []],
    [{ must: 'x', document: '{a:1}' }, ['document invalid_input']],
    [{ must: 'x', document: { a: 1 } }, ['document invalid_input']],
    [{ must: 'x', file: attachment }, []],
    [{ must: 'x', file: { ...attachment, contents: 'not base64' } }, ['file invalid_input']],
    [{ must: 'x', file: { ...attachment, more: 1 } }, ['file invalid_input']],
    [{ must: 'x', file: 'a.json' }, ['file invalid_input']],
    [
      { must: 'x', other: 'y', constructor: 'z' },
      ['other unknown_field', 'constructor unknown_field'],
    ],
  ];
  for (const [config, expected] of cases)
    assert.deepEqual(
      configFaults(fields, config).map(({ attr, code }) => `${attr} ${code}`),
      expected,
      JSON.stringify(config),
    );
});

test('property: a valid configuration has no faults, and each planted fault is found alone', () => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/);
  const field = fc.record({
    key: name,
    type: fc.constantFrom(undefined, 'string' as const, 'json' as const, 'choice' as const),
    required: fc.boolean(),
  });
  const right = ({ type }: ConfigField) =>
    type === 'json' ? '[1]' : type === 'choice' ? 'b' : 'text';
  fc.assert(
    fc.property(
      fc.uniqueArray(field, { selector: ({ key }) => key, minLength: 1 }),
      fc.nat(),
      (drawn, pick) => {
        const fields: ConfigField[] = drawn.map((item) =>
          item.type === 'choice' ? { ...item, choices: ['a', 'b'] } : item,
        );
        const config = Object.fromEntries(fields.map((item) => [item.key, right(item)]));
        assert.deepEqual(configFaults(fields, config), []);
        const chosen = fields[pick % fields.length]!;
        const only = (change: Record<string, unknown>) =>
          configFaults(fields, { ...config, ...change }).map(({ attr }) => attr);
        assert.deepEqual(only({ [chosen.key!]: 7 }), [chosen.key]);
        assert.deepEqual(
          only({ [chosen.key!]: undefined }),
          chosen.required === true ? [chosen.key] : [],
        );
        assert.deepEqual(only({ UNKNOWN: 'x' }), ['UNKNOWN']);
      },
    ),
    { numRuns: inDepth(150, 5_000) },
  );
});
