import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { root } from './source_files.ts';

const folders = ['console', 'server', 'test', 'scripts', 'bench', 'migrations', 'docs'];
// Pages for users speak of their files too, which are none of ours.
const pages = [
  'README.md',
  'AGENTS.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs/security.md',
  ...readdirSync(join(root, 'docs/decisions')).map((name) => `docs/decisions/${name}`),
];

const paths = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
    (name) => `${folder}/${name}`,
  ),
);
const names = new Set(paths.map((path) => basename(path)));

/**
 * Tells whether a path, from the repository's folder or any below it, or the name of a file,
 * exists.
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

const markdown = globSync(['*.md', '{.github,deploy,docs,examples}/**/*.md'], { cwd: root }).map(
  (page) => join(root, page),
);
const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '');

/** The names by which a page's headings can be linked to, as GitHub forms them. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  return new Set(
    [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map((match) => {
      const plain = match[1]!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
      const anchor = plain.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-');
      const times = seen.get(anchor) ?? 0;
      seen.set(anchor, times + 1);
      return times === 0 ? anchor : `${anchor}-${times}`;
    }),
  );
}

/** The links of a page to a file or a heading here that is not there. */
function deadLinks(page: string): string[] {
  const links = withoutCode(readFileSync(page, 'utf8')).matchAll(/\]\(([^)\s]*)\)/g);
  return [...links]
    .map((match) => match[1]!)
    .filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path, anchor] = link.split('#') as [string, string?];
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(target)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).has(anchor);
    })
    .map((link) => `${relative(root, page)} links to ${link}`);
}

test('every link of a page to a file or a heading of this repository leads there', () => {
  assert.ok(markdown.length > 100);
  assert.deepEqual(markdown.flatMap(deadLinks), []);
});

test('headings are named as GitHub names them', () => {
  const text = '# A `code`, an [own](x.md)\n```\n# no heading\n```\n## Twice\n## Twice\n';
  assert.deepEqual([...anchorsOf(text)], ['a-code-an-own', 'twice', 'twice-1']);
});

test('the rule itself: what is found and what is not', () => {
  assert.deepEqual(filesNamed('`a/b.ts`, `c.sql`\n```\n`d.ts`\n```\n`e.json` f.ts'), [
    'a/b.ts',
    'c.sql',
  ]);
  assert.ok(isThere('engine/model/ledger/rectangles.ts') && isThere('ledger.ts'));
  assert.ok(!isThere('engine/model/ledger.ts') && !isThere('edger/ledger.ts'));
});
