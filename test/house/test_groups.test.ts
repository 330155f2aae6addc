import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, test } from 'node:test';
import { root } from '../../scripts/child.ts';
import { groupTestFiles, writeGroups } from '../../scripts/check/test_groups.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-groups-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, code: string) => {
  writeFileSync(join(folder, name), `import { test } from 'node:test';\n${code}\n`);
  return relative(root, join(folder, name));
};

test('each file is in one group, and more cores get more groups', () => {
  const files = [
    ...Array.from({ length: 100 }, (_, index) => `server/api/a${index}.test.ts`),
    ...Array.from({ length: 9 }, (_, index) => `console/b${index}.test.ts`),
  ];
  const counts = [1, 2, 4].map((share) => {
    const groups = groupTestFiles(files, share);
    assert.deepEqual(groups.flat().toSorted(), files.toSorted());
    return groups.length;
  });
  assert.deepEqual(counts, [4, 7, 13]);
});

async function runGroup(files: string[]) {
  const [group = ''] = await writeGroups([files], folder, 30);
  return spawnSync(process.execPath, ['--test', '--test-reporter=spec', group], {
    env: {},
    encoding: 'utf8',
  });
}

test('an uncaught error fails the process of the files, and is reported', async () => {
  const files = [
    write('rejects.mjs', "test('one', async () => void Promise.reject(new Error('rejected')));"),
    write(
      'throws.mjs',
      "const thrown = () => { throw new Error('thrown'); };\n" +
        "test('two', (context, done) => void setImmediate(thrown, setImmediate(done)));",
    ),
    write('passes.mjs', "test('three', () => {});"),
  ];
  const { status, stderr, stdout } = await runGroup(files);
  assert.equal(status, 1, stdout + stderr);
  assert.match(stdout, /pass 3\n.*fail 1\n/);
  assert.match(stdout, /Error: rejected\n.*rejects\.mjs/);
  assert.match(stdout, /Error: thrown\n.*throws\.mjs/);
});

const file = (name: string) => `
  import { after, before } from 'node:test';
  before(async () => console.log('before ${name}'));
  after(() => console.log('after ${name}'));
  test('${name}', () => console.log('test ${name}'));`;
/** Two files with hooks behind three that cannot be loaded; one run shows what both tests say. */
let broken: ReturnType<typeof runGroup> | undefined;
const runBroken = () =>
  (broken ??= runGroup([
    write('unlinked.mjs', "import { nothing } from 'node:path';\ntest(nothing, () => {});"),
    write('thrown.mjs', "throw new Error('thrown at the top');"),
    write('awaits.mjs', 'await null;'),
    ...['one', 'two'].map((name) => write(`${name}.mjs`, file(name))),
  ]));

test('the hooks of a file run around its own tests, not around those of all files', async () => {
  const { stdout } = await runBroken();
  const said = stdout.match(/^(before|test|after) \w+$/gm)?.join(', ');
  assert.equal(said, 'before one, test one, after one, before two, test two, after two');
});

test('a file that cannot be linked, throws or awaits at its top fails alone', async () => {
  const { status, stderr, stdout } = await runBroken();
  assert.equal(status, 1, stdout + stderr);
  assert.match(
    stdout,
    /✖ \S*unlinked\.mjs .*\n✖ \S*thrown\.mjs .*\n✖ \S*awaits\.mjs .*\n▶ \S*one\.mjs\n {2}✔ one/,
  );
  assert.match(stdout, /does not provide an export named 'nothing'/);
  assert.match(stdout, /Error: thrown at the top/);
  assert.match(stdout, /top-level await/);
});
