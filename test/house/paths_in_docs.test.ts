import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { root } from './source_files.ts';

const folders = ['console', 'server', 'test', 'scripts', 'bench', 'migrations', 'docs'];
// Pages for users speak of their files too, which are none of ours.
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs/decisions')).map((name) => `docs/decisions/${name}`),
];

const paths = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
    (name) => `${folder}/${name}`,
  ),
);
const names = new Set(paths.map((path) => basename(path)));

/**
 * Whether a path, from the repository's folder or any below it, or the name of a file, is there.
 */
function isThere(path: string): boolean {
  return path.includes('/')
    ? paths.some((known) => known === path || known.endsWith(`/${path}`))
    : names.has(path);
}

/** The files that a page names in backticks outside of code blocks. */
function filesNamed(text: string): string[] {
  return [
    ...text
      .replaceAll(/```[\s\S]*?```/g, '')
      .matchAll(/`((?:[\w.-]+\/)*[\w.-]+\.(?:tsx?|mjs|sql))`/g),
  ].map((match) => match[1]!);
}

test('every file of ours that a page about this repository names exists', () => {
  const gone = pages.flatMap((page) =>
    filesNamed(readFileSync(join(root, page), 'utf8'))
      .filter((path) => !isThere(path))
      .map((path) => `${page} names ${path}, which is not there: write where it is now.`),
  );
  assert.deepEqual(gone, []);
});

test('the rule itself: what is found and what is not', () => {
  assert.deepEqual(filesNamed('`a/b.ts`, `c.sql`\n```\n`d.ts`\n```\n`e.json` f.ts'), [
    'a/b.ts',
    'c.sql',
  ]);
  assert.ok(isThere('engine/ledger/rectangles.ts') && isThere('ledger.ts'));
  assert.ok(!isThere('engine/ledger.ts') && !isThere('edger/ledger.ts'));
});
