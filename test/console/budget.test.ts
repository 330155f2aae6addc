import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { root } from '../house/source_files.ts';

/**
 * Most of a first view (scripts, styles and type), whichever it is, and most JavaScript that a
 * later view adds; gzip, in KB.
 */
const first_view_kb_max = 250;
const later_view_kb_max = 80;
/** The editors come when a query or code is shown, whichever view that is on. */
const editors = ['queries/editor.tsx', 'plugins/editor/code_editor.tsx'];
const editor_kb_max = 125;

type Chunk = {
  file: string;
  isEntry?: boolean;
  imports?: string[];
  dynamicImports?: string[];
  css?: string[];
  assets?: string[];
};

const dist = join(root, 'console/dist');
const manifest = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8')) as Record<
  string,
  Chunk
>;

/** The scripts that are loaded with a chunk: itself and what it imports, however far. */
function filesWith(name: string, found = new Set<string>()): Set<string> {
  const { file, imports = [] } = manifest[name]!;
  if (!file.endsWith('.js') || found.has(file)) return found;
  found.add(file);
  for (const other of imports) filesWith(other, found);
  return found;
}

/** The styles that come with a chunk and what it imports, and the type that they name. */
function looksWith(name: string, found = new Set<string>()): Set<string> {
  const { imports = [], css = [], assets = [] } = manifest[name]!;
  for (const file of [...css, ...assets.filter((one) => one.endsWith('.woff2'))]) found.add(file);
  for (const other of imports) looksWith(other, found);
  return found;
}

/** The size of each file that was asked for: most views share most of theirs. */
const sizes = new Map<string, number>();

function kilobytes(files: Iterable<string>): number {
  return [...files].reduce((sum, file) => sum + sizeOf(file), 0);
}

function sizeOf(file: string): number {
  const known = sizes.get(file);
  if (known !== undefined) return known;
  const size = gzipSync(readFileSync(join(dist, file)), { level: 9 }).length / 1024;
  sizes.set(file, size);
  return size;
}

const [entry] = Object.entries(manifest).find(([, { isEntry }]) => isEntry === true)!;
const frame = 'shell/frame.tsx';
// Each view is loaded by a dynamic import of the entry, most of them inside of the frame.
const views = manifest[entry]!.dynamicImports!.filter((name) => name !== frame);
const around = new Set([...filesWith(entry), ...filesWith(frame)]);
const looks = new Set([...looksWith(entry), ...looksWith(frame)]);

test('a first view loads at most 250 KB of scripts, styles and type, whichever it is', () => {
  assert.ok(views.length >= 5, 'The views are found.');
  const type = [...looks].filter((file) => file.endsWith('.woff2'));
  assert.equal(type.length, 1, 'The type is found.');
  assert.ok(sizeOf(type[0]!) < 60);
  const heavy = views
    .map((name) => {
      const files = [...around, ...looks, ...filesWith(name), ...looksWith(name)];
      return [name, Math.round(kilobytes(new Set(files)))] as const;
    })
    .filter(([, size]) => size > first_view_kb_max);
  assert.deepEqual(heavy, []);
});

test('every part of Mantine that the console uses brings its styles', () => {
  const parts = (ending: string) =>
    readdirSync(join(dist, 'assets'))
      .filter((name) => name.endsWith(ending) && !name.startsWith('reference'))
      .flatMap((name) =>
        readFileSync(join(dist, 'assets', name), 'utf8').match(/\bm_[0-9a-f]{6,8}\b/g),
      );
  const styled = new Set(parts('.css'));
  const used = new Set(parts('.js'));
  assert.ok(used.size > 50, 'The parts are found.');
  assert.deepEqual(
    [...used].filter((part) => !styled.has(part)),
    [],
    'console/shell/mantine.css',
  );
});

test('a later view adds at most 80 KB of JavaScript, with all that it loads later still', () => {
  const heavy = views
    .map((name) => {
      const later = (manifest[name]!.dynamicImports ?? []).filter((one) => !editors.includes(one));
      const files = new Set([name, ...later].flatMap((one) => [...filesWith(one)]));
      return [name, Math.round(kilobytes(files.difference(around)))] as const;
    })
    .filter(([, size]) => size > later_view_kb_max);
  assert.deepEqual(heavy, []);
});

test('each editor is a chunk of its own, of at most 125 KB', () => {
  for (const editor of editors) {
    const size = Math.round(kilobytes(filesWith(editor).difference(around)));
    assert.ok(size <= editor_kb_max, `${editor}: ${size} KB`);
  }
});
