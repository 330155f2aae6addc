import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { folderAroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { openSluice } from '../../../test/processes/sluice_process.ts';

const sluice = openSluice();
const folder = folderAroundTests();
let harness: Harness;
let home: TestOrganization;
let address: string;
before(async () => {
  harness = await openHarness({ clickhouse: false });
  home = await harness.newOrganization();
  address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
});
after(async () => {
  await sluice.close();
  await harness.close();
});

const file = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

test('faults have exit codes of their own, and the form that was asked for', async () => {
  const path = file('plain.yaml', 'projects: {}\n');
  const broken = file('faulty.yaml', 'projects:\n  bad:\n    name: { file: none.txt }\n');
  const cases: [string[], number, RegExp][] = [
    [[path, '--url', 'http://127.0.0.1:9'], 3, /127\.0\.0\.1:9 cannot be reached: ECONNREFUSED/],
    [[path, '--key', 'slk_x'], 4, /refused the API key: .*`sluice login --url/],
    [[path, '--key', ''], 4, /There is no API key for .*run `sluice login`/],
    [[path, '--url', 'localhost:8000'], 2, /is not the address of a server/],
    [[path, '--organization', 'none'], 2, /has no organization none that this key may see/],
    [[path, '--url', `${address}/api`], 2, /has no organization @current that this key may see/],
    [[broken], 2, /faulty\.yaml:3:5: The file none\.txt cannot be read: ENOENT\./],
  ];
  const has = (words: string[], name: string) => words.includes(name);
  for (const [words, code, said] of cases) {
    const target = [
      ...(has(words, '--url') ? [] : ['--url', address]),
      ...(has(words, '--key') ? [] : ['--key', home.key]),
    ];
    const run = (...more: string[]) =>
      sluice.run(['config', 'diff', '--exit-code', ...words, ...target, ...more], {});
    const told = await run();
    assert.deepEqual([told.code, told.out], [code, ''], told.err);
    assert.match(told.err, said);
    const json = await run('--json');
    const { error } = JSON.parse(json.out);
    assert.deepEqual([json.code, error.exit_code, json.err], [code, code, told.err]);
    assert.match(told.err, /\S/);
    const markdown = await run('--markdown');
    assert.equal(markdown.code, code);
    assert.match(markdown.out, /^### Sluice: (?:no plan|the configuration is refused)\n\n- \S/);
  }
  const { faults } = JSON.parse(
    (
      await sluice.run(
        ['config', 'plan', '--json', broken, '--url', address, '--key', home.key],
        {},
      )
    ).out,
  ).error;
  assert.deepEqual([faults[0].line, faults[0].column], [3, 5]);
});

const shop = `projects:
  web:
    name: Web
    notice_targets:
      hook: { type: webhook, url: { env: HOOK_URL } }
`;
const given = { HOOK_URL: 'https://hooks.example.com/pl4nted-path' };

test('an empty variable wipes no secret, and names where it stands', async () => {
  const at = await harness.newOrganization();
  const path = file('emptied.yaml', shop);
  const target = ['--url', address, '--key', at.key];
  const applied = await sluice.run(['config', 'apply', '--yes', path, ...target], given);
  assert.equal(applied.code, 0, applied.err);
  const empty = { ...given, HOOK_URL: '' };
  const refused = await sluice.run(['config', 'apply', '--yes', path, ...target], empty);
  assert.deepEqual([refused.code, refused.out], [2, '']);
  assert.match(refused.err, /emptied\.yaml:5:30: projects\.web\.notice_targets\.hook\.url refers/);
  assert.match(refused.err, /the variable HOOK_URL, which is empty.*write null to clear it/);
  const again = await sluice.run(['config', 'diff', '--exit-code', path, ...target], given);
  assert.equal(again.code, 0, again.out);
});
