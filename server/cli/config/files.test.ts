import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { readFiles } from './files.ts';
import { faultLines } from './places.ts';
import { pullFiles } from './pull_files.ts';
import { readYaml } from './yaml_file.ts';
import { folderAroundTests } from '../../../test/around_tests.ts';

const folder = folderAroundTests();

let number = 0;
/** Reads files of a folder of their own; faults name them without it. */
async function read(
  files: Record<string, string | Buffer>,
  variables: Record<string, string> = {},
) {
  const own = join(folder, String((number += 1)));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(own, name)), { recursive: true });
    writeFileSync(join(own, name), text);
  }
  const result = await readFiles([own], (name) => variables[name]);
  return {
    ...result,
    lines: faultLines(result.faults).map((line) => line.replaceAll(`${own}/`, '')),
  };
}

test('several files, folders, JSON and modules are one configuration', async () => {
  const { value, lines } = await read({
    'a.yaml': 'projects:\n  web: { name: Web }\n',
    'exports/b.yml': 'projects:\n  web:\n    batch_exports:\n      one: { name: One }\n',
    'exports/c.json':
      '{ "projects": { "web": { "batch_exports": { "two": { "name": "Two" } } } } }',
    'd.config.ts':
      'type Named = { name: string };\nconst app: Named = { name: "App" };\n' +
      'export default { projects: { app } };\n',
    'ignored.txt': 'not read',
  });
  assert.deepEqual(lines, []);
  assert.deepEqual(value, {
    projects: {
      web: { name: 'Web', batch_exports: { one: { name: 'One' }, two: { name: 'Two' } } },
      app: { name: 'App' },
    },
  });
});

test('a file that says nothing is refused, beside others too', async () => {
  const { lines } = await read({
    'a.yaml': 'projects: {}\n',
    'b.yaml': '',
    'c.yaml': '# all of it\n\n',
    'd.json': 'null',
    'e.yaml': '{}',
  });
  assert.deepEqual(
    lines.map((line) => line.replace(/(?<=The file is empty), .*/, '')),
    [
      'b.yaml:1:1: The file is empty',
      'c.yaml:1:1: The file is empty',
      'd.json:1:1: The file is empty',
    ],
  );
});

test('references are resolved beside their file; what is not set stays', async () => {
  const { value, lines } = await read(
    {
      'a.yaml':
        'x:\n  plain: ${env:HOST}.example.com $${env:HOST}\n  set: { env: WORD }\n' +
        '  unset: { env: NONE }\n  text: { file: keys/one.pem }\n',
      'keys/one.pem': 'line\nline\n',
    },
    { HOST: 'h', WORD: 'w' },
  );
  assert.deepEqual(lines, []);
  assert.deepEqual(value, {
    x: {
      plain: 'h.example.com ${env:HOST}',
      set: { secret: 'w' },
      unset: { env: 'NONE' },
      text: { secret: 'line\nline' },
    },
  });
});

test('an empty variable or file is named with its place, and never taken for a value', async () => {
  const { lines, value } = await read(
    {
      'a.yaml':
        'projects:\n  web:\n    token: { env: EMPTY }\n    headers: { A: { env: BLANK } }\n' +
        '    list: [{ env: EMPTY }]\n    key: { file: empty.pem }\n    name: a-${env:EMPTY}\n' +
        'plugins:\n  geo: { source: { index.js: { file: empty.pem }, a.js: "${env:EMPTY}" } }\n',
      'empty.pem': '\n',
    },
    { EMPTY: '', BLANK: ' \t' },
  );
  const rest =
    'which is empty. Give it a value; remove this key to keep what is stored; or write null to ' +
    'clear it.';
  assert.deepEqual(lines, [
    `a.yaml:3:5: projects.web.token refers to the variable EMPTY, ${rest}`,
    `a.yaml:4:16: projects.web.headers.A refers to the variable BLANK, ${rest}`,
    `a.yaml:5:12: projects.web.list.0 refers to the variable EMPTY, ${rest}`,
    `a.yaml:6:5: projects.web.key refers to the file empty.pem, ${rest}`,
    'a.yaml:7:5: projects.web.name uses the variable EMPTY, which is empty. Give it a value, or ' +
      'take it out.',
    'a.yaml:9:51: plugins.geo.source.a.js uses the variable EMPTY, which is empty. Give it a ' +
      'value, or take it out.',
  ]);
  // A file of code may be empty.
  assert.deepEqual((value as any).plugins.geo.source['index.js'], { secret: '' });
});

test('anchors and merges are written out; a field beside a merge counts more', async () => {
  const { value, lines } = await read({
    'a.yaml': 'x:\n  base: &base { a: 1, b: 2 }\n  one: { <<: *base, b: 3 }\n  two: *base\n',
  });
  assert.deepEqual(lines, []);
  assert.deepEqual(value, {
    x: { base: { a: 1, b: 2 }, one: { a: 1, b: 3 }, two: { a: 1, b: 2 } },
  });
});

test('a key is what is written, also where YAML has a number', async () => {
  const { value, lines } = await read({
    'a.yaml': 'projects: { 007: {}, 1e3: {}, "0x1F": {}, null: {}, 2026_01: {} }\n',
  });
  assert.deepEqual(lines, []);
  assert.deepEqual(value, {
    projects: { '007': {}, '1e3': {}, '0x1F': {}, null: {}, '2026_01': {} },
  });
});

test('every fault of every file is reported at once, with line and column', async () => {
  const { lines } = await read({
    'a.yaml': 'projects:\n  web: { name: Web }\n  web: { name: Again }\n',
    'b.yaml': 'projects:\n\t- x\n',
    'c.yaml': 'a: &a\n  b: *a\n',
    'd.yaml': 'x: ${env:GONE}\ny: { file: gone.pem }\n',
    'e.json': '{ "a": 1, }{',
    'f.yaml': '- a list\n',
    'g.yaml': 'x: *nowhere\n',
    'h.config.ts': '\nthrow new Error("no");\n',
    'k.config.ts': 'import "./parts/part.ts";\nexport default {};\n',
    'parts/part.ts': 'const whole = 1;\nconst part: = 2;\n',
    'i.yaml': 'domains:\n  own: { domain: a.example }\n',
    'j.yaml': 'domains:\n  own: { domain: b.example }\n',
  });
  const told = lines.map((line) => line.replace(/^(\S+): .*$/, '$1'));
  assert.deepEqual(
    told.filter((place, at) => told.indexOf(place) === at),
    [
      'a.yaml:3:3',
      'b.yaml:2:1',
      'c.yaml:2:6',
      'd.yaml:1:1',
      'd.yaml:2:1',
      'e.json:1:12',
      'f.yaml:1:1',
      'g.yaml:1:4',
      'h.config.ts:2:7',
      'j.yaml:2:3',
      'parts/part.ts:2:13',
    ],
  );
  assert.match(lines.at(-2)!, /domains.own occurs twice: also at i.yaml:2/);
  assert.match(
    lines.find((line) => line.startsWith('c.yaml'))!,
    /contains itself: a cycle/,
  );
});

test('a quote that is not closed is reported where it begins', async () => {
  const { lines } = await read({
    'a.yaml': 'domains:\n  own: "a.example\n  b: 1\nplugins: {}\n',
    'b.yaml': "domains: { own: 'it''s\n  b: 1 }\n",
  });
  const detail = 'The quote here is never closed.';
  assert.deepEqual(lines, [`a.yaml:2:8: ${detail}`, `b.yaml:1:17: ${detail}`]);
});

test('an ambiguous line and a repeated key are reported with advice', async () => {
  const { lines } = await read({
    'a.yaml': 'domains:\n  own: a: b\n',
    'b.yaml': 'plugins: {}\nplugins: {}\n',
  });
  assert.deepEqual(
    lines.map((line) => line.replace(/^(\S+ This (?:line|key)).*/, '$1')),
    ['a.yaml:2:8: This line', 'b.yaml:2:1: This key'],
  );
});

test('unintended text is refused: other encodings, a second document, ${NAME}', async () => {
  const { lines } = await read({
    'a.yaml': '---\nx: 1\n---\ny: 2\n',
    'b.yaml': Buffer.from('x: 1\nname: W\xe4b\n', 'latin1'),
    'c.yaml': 'x: ${WORD}\ny: ${ env:WORD }\nz: ${env:WORD\nu: ${env:A-B}\nv: ${{ x }}\n',
    'd.yaml': 'plugins:\n  own:\n    source:\n      index.ts: "`${WORD} ${env.a} ${a}`"\n',
    'e.yaml': 'e: { file: secret.bin }\n',
    'secret.bin': Buffer.from([0xff, 0xfe]),
    'f.yaml': 'f: $100 ${word} $WORD {WORD}\n',
  });
  assert.match(lines.shift()!, /^a\.yaml:3:1: The file has several documents: /);
  assert.match(lines.shift()!, /^b\.yaml:2:8: The file is no UTF-8 text/);
  for (const line of [1, 2, 3, 4, 5])
    assert.match(lines.shift()!, new RegExp(`^c\\.yaml:${line}:1: \\S.* is no variable: write `));
  assert.match(lines.shift()!, /^e\.yaml:1:1: The file secret\.bin cannot be read: it is no UTF-8/);
  assert.deepEqual(lines, []);
});

test('a pulled file can be read unchanged', async () => {
  const code = 'const a = `$${b} ${c} ${env:HOME} $$${d} ${{}} ${HOME} ${ env.x }`; // $$ {';
  const configuration = {
    organization: { name: '${env:NAME} $${x}' },
    projects: { '1e3': { name: 'no' } },
    plugins: { own: { source: { 'index.ts': code } } },
  };
  for (const name of ['pulled.yaml', 'pulled.json']) {
    const file = join(folder, name);
    await pullFiles(configuration, file, 'http://a.example');
    const { value, faults } = await readFiles([file], () => 'never');
    assert.deepEqual([value, faults], [configuration, []]);
  }
  // YAML 1.1 would read an unquoted `no` as a boolean.
  assert.match(readFileSync(join(folder, 'pulled.yaml'), 'utf8'), /name: "no"/);
});

test('anchors that multiply, deep nesting and large files are refused in time', () => {
  const begin = performance.now();
  const laughs = [
    'a0: &a0 [x, x, x, x, x, x, x, x, x, x]',
    ...Array.from(
      { length: 9 },
      (_, at) =>
        `a${at + 1}: &a${at + 1} [${Array.from({ length: 10 }, () => `*a${at}`).join(', ')}]`,
    ),
  ].join('\n');
  const many = Array.from(
    { length: 220_000 },
    (_, at) => `k${at}: &n${at} { a: 1, b: *n${at - 1} }`,
  );
  for (const [text, wanted] of [
    [laughs, /more than 100000 values/],
    [many.join('\n'), /larger than 5242880 bytes/],
    [`x: ${'['.repeat(80)}${']'.repeat(80)}`, /deeper than 64/],
  ] as const) {
    const { faults } = readYaml('a.yaml', text);
    assert.equal(faults.length, 1);
    assert.match(faults[0]!.detail, wanted);
    assert.ok(faults[0]!.line >= 1 && faults[0]!.column >= 1);
  }
  assert.ok(performance.now() - begin < 20_000);
});
