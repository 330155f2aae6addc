import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { allNodes, commandTree } from '../../server/cli/completion/command_tree.ts';
import { describedProgram } from '../../server/cli/commands.ts';
import { cliText } from '../../scripts/docs/cli_text.ts';
import { configurationText } from '../../scripts/docs/configuration_text.ts';
import { openApiText } from '../../scripts/docs/openapi_document.ts';
import { destinations } from '../../server/engine/destinations/index.ts';
import { models } from '../../server/engine/model/models/index.ts';
import { listImports, listSourceFiles, root } from './source_files.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

function foldersIn(path: string): string[] {
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry.name] : [],
  );
}

/** The folders beside a list that it imports from. */
function foldersListed(list: string): string[] {
  const file = listSourceFiles().find(({ path }) => path === list)!;
  return listImports(file).flatMap(({ module, is_type }) =>
    is_type ? [] : (/^\.\/(\w+)\//.exec(module)?.[1] ?? []),
  );
}

test('every slice with routes is in server/api/index.ts', () => {
  const slices = foldersIn('server/api').filter((folder) =>
    existsSync(join(root, 'server/api', folder, 'routes.ts')),
  );
  assert.deepEqual(
    foldersListed('server/api/index.ts').sort(),
    slices.sort(),
    'Add the line of the slice to server/api/index.ts (or remove its folder).',
  );
});

test('every destination is in destinations/index.ts, once, under its own type', () => {
  const shared = ['contents', 'formats', 'lake', 'object_store', 'sql_tables'];
  const folders = foldersIn('server/engine/destinations').filter((name) => !shared.includes(name));
  assert.deepEqual(
    foldersListed('server/engine/destinations/index.ts').sort(),
    folders.sort(),
    'Add the line of the destination to server/engine/destinations/index.ts.',
  );
  assert.equal(destinations.length, folders.length, 'One line of the list for each folder.');
  const types = destinations.map(({ type }) => type);
  assert.deepEqual([...new Set(types)], types, 'Two destinations have the same type.');
  assert.deepEqual(
    types.map((type) => type.toLowerCase()).sort(),
    folders.sort(),
    'Name the folder of a destination after its type.',
  );
});

test('every destination has a page that names each of its settings', () => {
  const missing = destinations.flatMap((destination) => {
    const page = `docs/destinations/${destination.type.toLowerCase()}.md`;
    if (!existsSync(join(root, page)))
      return [`Write ${page}: what it does, its settings, an example, what it guarantees.`];
    const text = read(page);
    return Object.keys(destination.config.properties).flatMap((key) =>
      text.includes(`\`${key}\``) ? [] : [`${page} does not name the setting \`${key}\`.`],
    );
  });
  assert.deepEqual(missing, []);
});

test('docs/export_columns.md has the columns of every model, with their types', () => {
  const wanted = Object.values(models).flatMap(({ name, columns: { files, tables } }) =>
    files === tables
      ? [{ head: name, columns: files }]
      : [
          { head: `${name}, in files`, columns: files },
          { head: `${name}, in databases`, columns: tables },
        ],
  );
  const page = read('docs/export_columns.md');
  for (const { head, columns } of wanted) {
    const start = page.indexOf(`| ${head.replace(/^\w+/, '`$&`')} | type |`);
    const table = start === -1 ? '' : page.slice(start).split('\n\n', 1)[0]!;
    assert.deepEqual(
      table
        .split('\n')
        .slice(2)
        .map((line) => line.split('|', 3).slice(1).join('|').trim()),
      columns.map(
        ({ name, type, nullable }) => `\`${name}\` | ${type}${nullable ? ', may be null' : ''}`,
      ),
      `The table \`${head}\` of docs/export_columns.md has not the columns of the model.`,
    );
  }
});

test('docs/configuration.md has every setting as the code has it', () => {
  assert.equal(
    read('docs/configuration.md'),
    configurationText(),
    'Run `npm run docs:configuration`.',
  );
});

test('docs/cli.md shows every command as the code has it', () => {
  const text = read('docs/cli.md');
  assert.equal(text, cliText(), 'Run `npm run docs:cli`.');
  const [common = ''] = text.split('## Options of many commands')[1]!.split('### ');
  for (const { words, command } of allNodes(commandTree(describedProgram())).slice(1)) {
    const [, rest] = text.split(`### sluice ${words.join(' ')}\n`);
    const [section = ''] = (rest ?? '').split('### ');
    for (const { flags, description } of command.options)
      assert.ok(
        `${common}${section}`.includes(`\`${flags}\` | ${description.replaceAll('<', '&lt;')}`),
        `\`sluice ${words.join(' ')} ${flags}\`: ${description}`,
      );
  }
});

test('openapi.json is what the application says of itself', async () => {
  assert.ok(
    (existsSync(join(root, 'openapi.json')) ? read('openapi.json') : '') === (await openApiText()),
    'Run `npm run docs:openapi` and commit openapi.json.',
  );
});

test('every migration has a number of its own and begins with the reason for it', () => {
  for (const folder of ['migrations', 'migrations/clickhouse']) {
    const files = readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.sql'))
      .sort();
    const numbers = files.map((name) => name.slice(0, 4));
    assert.deepEqual(
      [...new Set(numbers)],
      numbers,
      `Two files in ${folder} have the same number; they are applied in the order of their names.`,
    );
    for (const name of files) {
      assert.match(name, /^\d{4}_[a-z0-9_]+\.sql$/, `${folder}/${name}: name it NNNN_what.sql.`);
      assert.match(
        read(join(folder, name)),
        /^-- \S.{20,}/,
        `${folder}/${name}: begin with a comment that says what it is for.`,
      );
    }
  }
});
