import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ConfigField } from '../plugin.ts';
import { PluginError } from '../plugin.ts';
import { assemblePackage, checkPackage, contentSha256, findEntryFiles } from './content.ts';
import { faultOffset, parseJson } from './json_text.ts';
import { configFaults, readManifest } from './manifest.ts';

const read = (json: unknown, files: Record<string, string> = {}) =>
  readManifest({ 'plugin.json': JSON.stringify(json), ...files });
const faultOf = (work: () => unknown): PluginError => {
  try {
    work();
  } catch (error) {
    assert(error instanceof PluginError, String(error));
    return error;
  }
  return assert.fail('nothing was thrown');
};

test('a manifest in the list layout', () => {
  const config = [
    { markdown: 'Hello' },
    {
      key: 'token',
      name: 'Token',
      type: 'string',
      secret: true,
      required: true,
      hint: 'from there',
      default: '',
    },
    {
      key: 'region',
      type: 'choice',
      choices: ['eu', 'us'],
      default: 'eu',
      site: true,
      visible_if: [['token']],
      required_if: [['token', 'x']],
      order: 3,
    },
  ];
  const manifest = read({
    name: 'A',
    description: 'B',
    icon: 'i.png',
    url: 'https://example.com',
    version: '1.2.3',
    main: 'src/a.ts',
    config,
    posthogVersion: '>=1',
    stateless: true,
  });
  assert.deepEqual(manifest, {
    name: 'A',
    description: 'B',
    icon: 'i.png',
    url: 'https://example.com',
    version: '1.2.3',
    main: 'src/a.ts',
    config_schema: config,
    fields: config,
    public_jobs: {},
  });
});

test('a manifest in the older layout, with what is null left out', () => {
  const config = {
    b: { type: 'string', default: null },
    last: { name: 'Last' },
    a: { order: 1, type: 'json' },
  };
  const jobs = { Import: { payload: { from: { type: 'date', required: true } } }, Reset: {} };
  const manifest = read(
    { name: 'A', description: ' ', config, publicJobs: jobs },
    { 'package.json': '{"version":"0.0.7"}' },
  );
  assert.deepEqual(manifest.config_schema, config);
  assert.deepEqual(manifest.fields, [
    { key: 'a', order: 1, type: 'json' },
    { key: 'b', type: 'string' },
    { key: 'last', name: 'Last' },
  ]);
  assert.deepEqual(manifest.public_jobs, jobs);
  assert.deepEqual([manifest.version, manifest.description, manifest.main], ['0.0.7', null, null]);
  assert.deepEqual(read({ name: 'A' }, { 'package.json': '{' }).config_schema, []);
});

test('every wrong key is named', () => {
  const wrong = {
    name: 7,
    description: [],
    icon: 'i'.repeat(801),
    config: [
      'x',
      {},
      { key: '' },
      { key: 'a', type: 'number', name: 1, required: 'yes', order: '1' },
      { key: 'a', type: 'choice', secret: true },
      { key: 'b', type: 'choice', choices: [1] },
      { key: 'c', required_if: ['a'], visible_if: [['a', 1, 2]] },
    ],
    publicJobs: { one: 1, two: { payload: { x: { type: 'text' }, y: 1 } }, three: { payload: [] } },
  };
  const { message, code, file } = faultOf(() => read(wrong));
  assert.deepEqual([code, file], ['invalid', 'plugin.json']);
  const named =
    `name must be text|description must be text|icon must have|config[0] must be an object|config[1] needs a key|config[2].key must be
    |config[3].type must be one of|config[3].name|config[3].required|config[3].order|config[4].key must be different|config[4].choices is required
    |config[4].secret|config[5].choices|config[6].required_if|config[6].visible_if|publicJobs.one|publicJobs.two.payload.x.type|publicJobs.two.payload.y
    |publicJobs.three.payload`.split(/\s*\|/);
  for (const part of named) assert(message.includes(part), `${part}: ${message}`);
  for (const [json, part] of [
    [[], 'must be an object'],
    [{}, 'name is required'],
    [{ name: 'A', config: 'x' }, 'config must be a list'],
    [{ name: 'A', publicJobs: [] }, 'publicJobs must be an object'],
  ] as const)
    assert(faultOf(() => read(json)).message.includes(part));
  assert.match(faultOf(() => readManifest({ 'index.js': '' })).message, /no plugin\.json/);
  assert.equal(
    faultOf(() => readManifest({ 'plugin.json': ' '.repeat(1024 * 1024 + 1) })).code,
    'too_large',
  );
});

test('what is not JSON is shown by line and column', () => {
  const cases: [string, number, number, RegExp][] = [
    ['', 1, 1, /ends too early/],
    ['{"name": "A",}', 1, 14, /"}" cannot stand here/],
    ['{\n  "name": nul,\n  "main": 1\n}', 2, 11, /"n"/],
    ['{\n  "name": "A"\n  "main": "b"\n}', 3, 3, /"\\""/],
    ["{'name': 1}", 1, 2, /"'"/],
    ['{"name": "a\nb"}', 1, 10, /.+/],
    ['{"name": "A"', 1, 13, /ends too early/],
    ['{"a": [1, 2}', 1, 12, /"}"/],
    ['{"a": 1} x', 1, 10, /"x"/],
    ['{"a": 01}', 1, 8, /"1"/],
    ['// x\n{}', 1, 1, /"\/"/],
    ['[1,,2]', 1, 4, /","/],
    ['{"a" 1}', 1, 6, /"1"/],
    ['{1: 2}', 1, 2, /"1"/],
  ];
  for (const [text, line, column, what] of cases) {
    const fault = faultOf(() => parseJson(text, 'plugin.json'));
    assert.deepEqual([fault.file, fault.line, fault.column], ['plugin.json', line, column], text);
    assert.match(fault.message, what);
  }
  assert.deepEqual(parseJson('\uFEFF{"a":1}', 'plugin.json'), { a: 1 });
});

test('property: a fault is placed if and only if JSON.parse refuses', () => {
  const damaged = fc.tuple(
    fc.json(),
    fc.nat(),
    fc.constantFrom(
      '',
      '"',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '1',
      '-',
      '\\',
      'n',
      ' ',
      '\u0001',
      '\u2028',
      '\ud800',
    ),
  );
  fc.assert(
    fc.property(damaged, ([text, at, part]) => {
      const position = at % (text.length + 1);
      for (const variant of [
        text,
        text.slice(0, position) + part + text.slice(position),
        text.slice(0, position) + part + text.slice(position + 1),
      ]) {
        let isJson = true;
        try {
          JSON.parse(variant);
        } catch {
          isJson = false;
        }
        const offset = faultOffset(variant);
        assert.equal(offset === undefined, isJson, variant);
        assert(offset === undefined || (offset >= 0 && offset <= variant.length));
      }
    }),
    { numRuns: 2000 },
  );
});

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

test(
  'property: a configuration of right values has no faults, and each fault that is put in is ' +
    'found alone',
  () => {
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
      { numRuns: 500 },
    );
  },
);

test('the content hash tells packages apart and not the order of their files', () => {
  const files = { a: 'b', c: 'd' };
  assert.match(contentSha256(files), /^[0-9a-f]{64}$/);
  assert.equal(contentSha256(files), contentSha256({ c: 'd', a: 'b' }));
  const others: Record<string, string>[] = [
    { a: 'bc', d: '' },
    { a: 'b' },
    { ab: '', c: 'd' },
    { a: 'b', c: 'd', e: '' },
    { a: 'b1 1\ncd' },
    {},
  ];
  assert.equal(
    new Set([files, ...others].map((item) => contentSha256(item))).size,
    others.length + 1,
  );
});

test('entry files, and what each collection needs', () => {
  const manifest = { 'plugin.json': '{"name":"A"}' };
  assert.deepEqual(findEntryFiles({ 'index.ts': '', 'site.ts': '', 'frontend.tsx': '' }, null), {
    server: 'index.ts',
    site: 'site.ts',
    frontend: 'frontend.tsx',
  });
  assert.deepEqual(findEntryFiles({ 'dist/a.js': '', 'index.js': '' }, './dist/a'), {
    server: 'dist/a.js',
    site: null,
    frontend: null,
  });
  const fault = faultOf(() => findEntryFiles({ 'index.ts': '' }, 'dist/index.js'));
  assert.deepEqual([fault.code, fault.file], ['invalid', 'plugin.json']);
  const cases: [
    Record<string, string>,
    'pipeline_destinations' | 'pipeline_frontend_apps' | 'pipeline_import_apps',
    RegExp | undefined,
  ][] = [
    [{ ...manifest, 'index.js': '' }, 'pipeline_destinations', undefined],
    [{ 'index.ts': '' }, 'pipeline_import_apps', undefined],
    [{ ...manifest, 'site.ts': '' }, 'pipeline_frontend_apps', undefined],
    [{ ...manifest, 'frontend.tsx': '' }, 'pipeline_frontend_apps', undefined],
    [{ ...manifest, 'index.js': '' }, 'pipeline_frontend_apps', /site\.ts/],
    [{ ...manifest, 'site.ts': '' }, 'pipeline_destinations', /no code/],
    [
      { 'plugin.json': '{"name":"A","main":"x.js"}', 'index.js': '' },
      'pipeline_destinations',
      /x\.js/,
    ],
    [{ 'plugin.json': '{', 'index.js': '' }, 'pipeline_destinations', /not JSON/],
    [{}, 'pipeline_destinations', /empty/],
    [{ '../index.js': '' }, 'pipeline_destinations', /leads out/],
    [{ 'index.js': '\0' }, 'pipeline_destinations', /not text/],
    [{ 'index.js': '\ud800' }, 'pipeline_destinations', /not text/],
    [{ 'index.js': '', 'INDEX.js': '' }, 'pipeline_destinations', /two entries/],
    [{ 'index.js': 'x'.repeat(101 * 1024 * 1024) }, 'pipeline_destinations', /larger than 100 MiB/],
    [
      Object.fromEntries(Array.from({ length: 2001 }, (_, index) => [`${index}.js`, ''])),
      'pipeline_destinations',
      /more than 2000 files/,
    ],
  ];
  for (const [files, collection, reason] of cases) {
    if (reason === undefined) checkPackage(files, collection);
    else assert.match(faultOf(() => checkPackage(files, collection)).message, reason);
  }
});

test('a package without a tag of its origin is named by version and content', () => {
  const files = { 'plugin.json': '{"name":"A","version":"1.0.0"}' };
  const hash = contentSha256(files);
  assert.equal(assemblePackage(files, null).tag, `1.0.0+${hash.slice(0, 12)}`);
  assert.equal(assemblePackage(files, 'v1').tag, 'v1');
  assert.match(assemblePackage({ 'plugin.json': '{"name":"A"}' }, null).tag!, /^[0-9a-f]{12}$/);
});
