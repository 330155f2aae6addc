import assert from 'node:assert/strict';
import { globSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { listSourceFiles, root } from './source_files.ts';

const columns_max = 100;
/** The least length of a text without a space that may have a line of its own. */
const token_columns_min = 80;
/** Migrations up to this one were applied before there was a width; they are never changed. */
const last_free_migration = '0022';

const pages = [
  ...globSync(['*.md', '{.github,bench,docs,examples}/**/*.md'], { cwd: root }).sort(),
];

test('no line of TypeScript is wider than 100 columns, but for what cannot be broken', () => {
  const written_by_hand = listSourceFiles().filter(({ path }) => path !== 'console/operations.ts');
  const wide = written_by_hand.flatMap((file) =>
    wideLines(file.path, file.text, (line) => isImport(line) || isPattern(line)),
  );
  assert.deepEqual(wide, [], 'Break these lines; a title says the same in fewer words.');
});

test('no line of SQL is wider than 100 columns', () => {
  const wide = listFiles('migrations', '.sql')
    .filter((path) => path.split('/').at(-1)!.slice(0, 4) > last_free_migration)
    .flatMap((path) => wideLines(path, read(path), () => false));
  assert.deepEqual(wide, [], 'Break these lines.');
});

test('no line of prose is wider than 100 columns, but for tables and single links', () => {
  const wide = pages.flatMap((path) => wideLines(path, read(path), isTableOrLink));
  assert.deepEqual(wide, [], 'Wrap these lines, also in code blocks.');
});

test('the check tells a line that may be wide from one that may not', () => {
  const long = 'word '.repeat(30);
  const token = 'x'.repeat(token_columns_min + 30);
  const widthOf = (line: string, isFree: (line: string) => boolean) =>
    wideLines('a', line, isFree).length;
  assert.equal(widthOf(long, isTableOrLink), 1);
  assert.equal(widthOf(`| ${long}|`, isTableOrLink), 0);
  assert.equal(widthOf(`- [${long}](docs/page.md)`, isTableOrLink), 0);
  assert.equal(widthOf(`- [${long}](docs/page.md), and more`, isTableOrLink), 1);
  assert.equal(widthOf(`see ${token}`, isTableOrLink), 0);
  assert.equal(widthOf(`const a = '${long}';`, isPattern), 1);
  assert.equal(widthOf(`  /^${long}$/gu,`, isPattern), 0);
  assert.equal(widthOf(`  /^${long}$/.exec(`, isPattern), 0);
  assert.equal(widthOf(`  // ${long}`, isPattern), 1);
  assert.equal(widthOf(`import { a } from './${long}.ts';`, isImport), 0);
});

/** The lines that are too wide and are not free, as `path:line columns`. */
function wideLines(path: string, text: string, isFree: (line: string) => boolean): string[] {
  return text.split('\n').flatMap((line, index) => {
    // As a reader counts: a character of two code units is one.
    const columns = [...line].length;
    return columns <= columns_max || isFree(line) || hasLongToken(line)
      ? []
      : [`${path}:${index + 1} ${columns} columns`];
  });
}

/** An address, a key or a hash: it has no space at which the line could be broken. */
function hasLongToken(line: string): boolean {
  return line.split(/\s+/).some((token) => token.length > token_columns_min);
}

function isImport(line: string): boolean {
  return /^(?:import|export) .*from '[^']+';$|^\} from '[^']+';$/.test(line);
}

/** A line that holds a regular expression and nothing beside it but what is done with it. */
function isPattern(line: string): boolean {
  return /^\s*(?:(?:const )?\w+(?: =|:) )?\/[^/*\s].*\/[a-z]*(?:\.exec\(|\.test\()?[,;)]*$/.test(
    line,
  );
}

function isTableOrLink(line: string): boolean {
  return /^\s*\|.*\|$/.test(line) || /^\s*(?:[-*] )?\[[^\]]*\]\([^)]*\)[.,;:]?$/.test(line);
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function listFiles(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => `${folder}/${name}`);
}
