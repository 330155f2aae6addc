import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listTestFiles } from '../../scripts/check/check_tests.ts';
import { leaveOutDear, turns } from '../../scripts/check/dear_tests.ts';
import { chooseLinted, chooseTests as choose } from '../../scripts/check/test_choice.ts';
import { groupTestFiles } from '../../scripts/check/test_groups.ts';
import { listReaching, listTestsOfChange, readReach } from '../../scripts/check/test_reach.ts';
import { openTurns } from '../../scripts/check/turns.ts';
import { faults } from '../planted/faults.ts';

const tests = listTestFiles([]);
const reach = readReach();
const isOfHouse = (file: string) => file.startsWith('test/house/');
const reachedBy = (...changed: string[]) =>
  listTestsOfChange(reach, tests, changed).filter((file) => !isOfHouse(file));
const harness = tests.filter(isOfHouse);
const chooseTests = (wanted: string[]) => choose(wanted, 0, false);

/** A changed file, and a test that it reaches. */
const reached: [changed: string, test: string, how: string][] = [
  ['server/engine/query/parse/lexer.ts', 'server/engine/query/effort.test.ts', 'imports'],
  ['server/engine/destinations/s3/s3.ts', 'server/api/projects/projects.test.ts', 'import()'],
  ['server/main.ts', 'test/main_job.test.ts', 'a program that it starts'],
  ['server/engine/plugins/sandbox/child/main.ts', 'test/main_job.test.ts', 'a bundled program'],
  ['server/platform/embedded/clickhouse/server.ts', 'test/main_job.test.ts', 'a child process'],
  ['migrations/0003_batch_exports.sql', 'server/api/projects/projects.test.ts', 'a folder'],
  ['migrations/clickhouse/0099_new.sql', 'server/engine/query/works.test.ts', 'a folder inside'],
  ['docs/errors.md', 'test/fault_matrix/fault_matrix.test.ts', 'a page that it reads'],
  ['test/certificates/saml_acme.crt', 'server/api/domains/enforcement.test.ts', 'a template'],
  ['test/saml/pysaml2_identity_provider.py', 'server/platform/saml/pysaml2.test.ts', 'a script'],
  ['console/sessions/login_page.tsx', 'test/console/served.test.ts', 'its build'],
  ['test/harness.ts', 'server/api/projects/projects.test.ts', 'what tests share'],
];

for (const [changed, wanted, how] of reached)
  test(`a change of ${changed} reaches ${wanted} through ${how}`, () => {
    assert.ok(reachedBy(changed).includes(wanted));
  });

test('a change reaches what imports it and nothing else', () => {
  assert.deepEqual(reachedBy('server/engine/exports/planning/interval.test.ts'), [
    'server/engine/exports/planning/interval.test.ts',
  ]);
  assert.ok(
    !reachedBy('server/app.ts').includes('server/engine/exports/planning/interval.test.ts'),
  );
  assert.deepEqual(reachedBy('LICENSE'), []);
  const isReachedBy = (text: string) =>
    listReaching(readReach([{ path: 'b.test.ts', text, code: text }]), ['a.ts']).has('b.test.ts');
  assert.ok(isReachedBy("import { a } from './a.ts';\n"));
  assert.ok(!isReachedBy("import type { A } from './a.ts';\n"));
});

test('the tests of the house run after every change, and all after one of packages', () => {
  for (const changed of [[], ['LICENSE'], ['docs/api.md']])
    assert.deepEqual(listTestsOfChange(reach, tests, changed).filter(isOfHouse), harness);
  for (const changed of ['package.json', 'package-lock.json', 'scripts/check/test_groups.ts'])
    assert.deepEqual(listTestsOfChange(reach, tests, [changed]), tests);
});

test('a text chooses the tests with it in their path', () => {
  assert.deepEqual(chooseTests(['--all']).files, tests);
  const { files, needs_stores } = chooseTests(['engine/exports/planning/interval.']);
  assert.deepEqual(files, ['server/engine/exports/planning/interval.test.ts']);
  assert.equal(needs_stores, false);
  assert.equal(chooseTests(['server/api/projects']).needs_stores, true);
  const deep = chooseTests(['--deep', 'server/engine']).files;
  assert.ok(deep.includes('server/engine/model/ledger/rectangles.test.ts'));
  assert.ok(!deep.includes('server/engine/exports/planning/plan.test.ts'));
  assert.match(chooseTests(['--whole']).told, /no option --whole/);
  assert.match(chooseTests(['no_such_file']).told, /No file has a path/);
});

const storing = listReaching(reach, ['test/harness_stores.ts']);
const inRun = (turn: number, ...changed: string[]) =>
  leaveOutDear(tests, turn, { reach, storing, changed });

const each_turn = Array.from({ length: turns }, (_, turn) => turn);

test('runs take turns with dear tests, and all turns have every test', () => {
  const runs = each_turn.map((turn) => inRun(turn));
  assert.deepEqual([...new Set(runs.flat())].toSorted(), tests.toSorted());
  for (const files of runs) {
    assert.ok(files.length < tests.length);
    for (const { killed_by } of faults) assert.ok(files.includes(killed_by), killed_by);
    for (const file of ['test/main_job.test.ts', 'test/simulation/simulation.test.ts', ...harness])
      assert.ok(files.includes(file), file);
  }
});

test('a change runs the dear tests beside it, and all after one of packages', () => {
  for (const [changed, near] of [
    ['console/members/member_list.tsx', 'console/members/members.test.ts'],
    ['console/form/form.tsx', 'console/members/members.test.ts'],
    ['server/engine/destinations/s3/s3_config.ts', 'server/engine/destinations/s3/s3.test.ts'],
    ['server/engine/destinations/index.ts', 'server/engine/destinations/s3/s3.test.ts'],
    ['test/typed/campaign.ts', 'test/typed/typed.test.ts'],
  ] as const)
    for (const turn of each_turn) assert.ok(inRun(turn, changed).includes(near), changed);
  assert.deepEqual(inRun(1, 'package-lock.json'), tests);
});

test('for a folder without tests those are chosen that reach it and open no store', () => {
  const { files, needs_stores } = chooseTests(['server/engine/query/parse/']);
  assert.ok(files.includes('server/engine/query/query_error.test.ts'));
  assert.ok(!files.includes('server/engine/query/works.test.ts'));
  assert.equal(needs_stores, false);
});

const all = ['.'];

test('the linter reads the sources of a folder that is named, and else all', () => {
  const linted = chooseLinted(['./server/engine/query/parse/', '--deep']);
  assert.ok(linted.includes('server/engine/query/parse/lexer.ts'));
  assert.ok(linted.every((file) => file.startsWith('server/engine/query/parse/')));
  assert.deepEqual([chooseLinted([], true), chooseLinted(['--changed', 'server/'])], [all, all]);
});

test("on a person's machine the linter reads what has changed and its importers", () => {
  const lintedOf = (...changed: string[]) => chooseLinted([], false, () => changed);
  const linted = lintedOf('server/engine/query/parse/tree.ts', 'docs/api.md');
  for (const file of ['server/engine/query/parse/tree.ts', 'server/engine/query/parse/select.ts'])
    assert.ok(linted.includes(file), file);
  assert.ok(linted.length < 100, `${linted.length} files`);
  for (const file of ['.oxlintrc.json', 'tsconfig.json', 'package.json', 'console/css.d.ts'])
    assert.deepEqual(lintedOf('server/app.ts', file), all, file);
  assert.deepEqual(lintedOf('docs/api.md'), []);
});

test('every test file runs once', () => {
  assert.deepEqual(groupTestFiles(tests).flat().sort(), tests.toSorted());
});

test('parallel steps print one after the other, the first one at once', () => {
  const said: string[] = [];
  const turns = openTurns((text) => said.push(text));
  const [first, second, third] = [turns.take(), turns.take(), turns.take()];
  second.write('second ');
  first.write('first ');
  assert.deepEqual(said, ['first ']);
  third.write('third ');
  third.end();
  first.end();
  assert.deepEqual(said, ['first ', 'second ']);
  second.write('more ');
  second.end();
  assert.deepEqual(said, ['first ', 'second ', 'more ', 'third ']);
});
