import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { differencesOf } from './differences.ts';
import type { Compared } from './differences.ts';

const state = (changes: Partial<Compared> = {}): Compared => ({
  tag: '1',
  files: { a: 'a' },
  config_schema: [{ key: 'k', type: 'string' }],
  capabilities: { methods: ['onEvent'], jobs: [], scheduled_tasks: [] },
  ...changes,
});

const cases: [string, Compared, Compared, Partial<ReturnType<typeof differencesOf>>][] = [
  ['nothing', state(), state(), {}],
  ['another tag', state(), state({ tag: '2' }), { to_tag: '2' }],
  [
    'files come, go and change',
    state({ files: { a: '1', b: '' } }),
    state({ files: { b: 'x', c: '' } }),
    {
      files: { added: ['c'], removed: ['a'], changed: ['b'] },
      line_changes: [
        { file: 'a', diff: '@@ -1,1 +0,0 @@\n-1\n\\ No newline at end of file\n' },
        { file: 'b', diff: '@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n' },
        { file: 'c', diff: '' },
      ],
    },
  ],
  [
    'the same fields in the other layout',
    state(),
    state({ config_schema: { k: { type: 'string' } } }),
    {},
  ],
  [
    'a field changes',
    state(),
    state({ config_schema: [{ key: 'k', secret: true }] }),
    { config_fields: { added: [], removed: [], changed: ['k'] } },
  ],
  [
    'a schema that is none has no fields',
    state(),
    state({ config_schema: 'x' }),
    { config_fields: { added: [], removed: ['k'], changed: [] } },
  ],
  [
    'a name that objects have',
    state({ files: {} }),
    state({ files: { constructor: 'x' } }),
    {
      files: { added: ['constructor'], removed: [], changed: [] },
      line_changes: [
        { file: 'constructor', diff: '@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n' },
      ],
    },
  ],
  [
    'a job and a method of one name are two',
    state(),
    state({ capabilities: { methods: [], jobs: ['onEvent'] } }),
    { capabilities: { added: ['jobs.onEvent'], removed: ['methods.onEvent'] } },
  ],
  [
    'capabilities in another shape are none',
    state(),
    state({ capabilities: 7 }),
    { capabilities: { added: [], removed: ['methods.onEvent'] } },
  ],
];

const none = { added: [], removed: [], changed: [] };
for (const [name, before, after, expected] of cases)
  test(name, () => {
    const found = differencesOf(before, after);
    assert.deepEqual(found, {
      from_tag: '1',
      to_tag: '1',
      files: none,
      config_fields: none,
      capabilities: { added: [], removed: [] },
      line_changes: [],
      ...expected,
    });
  });

test('a state differs from itself in nothing, and the way back is the way turned round', () => {
  const files = fc.dictionary(fc.stringMatching(/^[a-c]{1,2}$/), fc.constantFrom('x', 'y'));
  fc.assert(
    fc.property(files, files, (one, other) => {
      const same = differencesOf(state({ files: one }), state({ files: { ...one } }));
      assert.deepEqual([same.files, same.line_changes], [none, []]);
      const [there, back] = [
        differencesOf(state({ files: one }), state({ files: other })).files,
        differencesOf(state({ files: other }), state({ files: one })).files,
      ];
      assert.deepEqual(there, { added: back.removed, removed: back.added, changed: back.changed });
    }),
    { numRuns: 200 },
  );
});
