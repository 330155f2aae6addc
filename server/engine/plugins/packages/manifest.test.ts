import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../../test/depth.ts';
import { findJsonFault } from '../../../platform/json/json_scan.ts';
import { parseJson } from './json_text.ts';
import { readManifest } from './manifest.ts';
import { faultOf } from '../../../../test/factories/plugins/manifests.ts';

const read = (json: unknown, files: Record<string, string> = {}) =>
  readManifest({ 'plugin.json': JSON.stringify(json), ...files });

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
    `name must be text|description must be text|icon must have|config[0] must be an object
    |config[1] needs a key|config[2].key must be|config[3].type must be one of
    |config[3].name|config[3].required|config[3].order|config[4].key must be different
    |config[4].choices is required|config[4].secret|config[5].choices|config[6].required_if
    |config[6].visible_if|publicJobs.one|publicJobs.two.payload.x.type
    |publicJobs.two.payload.y|publicJobs.three.payload`.split(/\s*\|/);
  for (const part of named) assert(message.includes(part), `${part}: ${message}`);
  for (const [json, part] of [
    [[], 'must be an object'],
    [{}, 'name is required'],
    [{ name: 'A', config: 'x' }, 'config must be a list'],
    [{ name: 'A', publicJobs: [] }, 'publicJobs must be an object'],
    [{ name: 'A\nB' }, 'name must be one line of text'],
    [{ name: 'A', version: '1\u202e.0' }, 'version must be one line of text'],
  ] as const)
    assert(faultOf(() => read(json)).message.includes(part));
  assert.match(faultOf(() => readManifest({ 'index.js': '' })).message, /no plugin\.json/);
  assert.equal(
    faultOf(() => readManifest({ 'plugin.json': ' '.repeat(1024 * 1024 + 1) })).code,
    'too_large',
  );
});

test('a default that no configuration and no payload may have is refused', () => {
  const attachment = { file_name: 'a', content_type: 'text/plain', contents: 'e30=' };
  const choice = { type: 'choice', choices: ['eu', 'us'] };
  const job = (type: string, standard: unknown) => ({
    name: 'A',
    publicJobs: { go: { payload: { x: { type, default: standard } } } },
  });
  const field = (described: object) => ({ name: 'A', config: [{ key: 'x', ...described }] });
  for (const [json, part] of [
    [field({ ...choice, default: 'xx' }), 'config[0].default must be one of "eu", "us", not "xx"'],
    [field({ ...choice, default: 1 }), 'config[0].default must be one of "eu", "us", not "1"'],
    [field({ default: ['a'] }), 'config[0].default must be text, not ["a"]'],
    [field({ type: 'json', default: '{a:1}' }), 'config[0].default must be text that is JSON'],
    [field({ type: 'attachment', default: 'a.txt' }), 'config[0].default must be an object {file'],
    [job('number', '5'), 'publicJobs.go.payload.x.default must be a number, not "5"'],
    [job('boolean', 1), 'default must be true or false, not 1'],
    [job('daterange', ['2026-02-01', '2026-01-01']), 'default must be a list of two days'],
    [job('toString', 1), 'publicJobs.go.payload.x.type must be one of string, boolean'],
  ] as const) {
    const { message } = faultOf(() => read(json));
    assert.ok(message.includes(part), `${part}: ${message}`);
  }
  const right = [
    field({ ...choice, default: '' }),
    field({ type: 'json', default: { a: 1 } }),
    field({ type: 'attachment', default: attachment }),
    field({ default: true }),
    job('number', 5),
    job('date', ''),
    job('json', [1]),
  ];
  for (const json of right) assert.equal(read(json).name, 'A');
});

test('a manifest that is not JSON is refused with line and column', () => {
  const cases: [string, number, number, RegExp][] = [
    ['', 1, 1, /ends too early/],
    ['{"name": "A",}', 1, 14, /"}" is not allowed here, remove the comma/],
    ['{\n  "name": nul,\n  "main": 1\n}', 2, 11, /"n"/],
    ['{\n  "name": "A"\n  "main": "b"\n}', 3, 3, /"\\""/],
    ["{'name': 1}", 1, 2, /"'"/],
    ['{"name": "a\nb"}', 1, 12, /"\\n" is not allowed/],
    ['{"name": "A"', 1, 13, /ends too early/],
    ['{"a": [1, 2}', 1, 12, /"}"/],
    ['{"a": 1} x', 1, 10, /"x"/],
    ['{"a": 01}', 1, 8, /"1"/],
    ['// x\n{}', 1, 1, /"\/" .* no comments/],
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
        const offset = findJsonFault(variant)?.offset;
        assert.equal(offset === undefined, isJson, variant);
        assert(offset === undefined || (offset >= 0 && offset <= variant.length));
      }
    }),
    { numRuns: inDepth(400, 20_000) },
  );
});
