import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { root } from '../house/source_files.ts';

/** Most JavaScript of a first view, whichever it is, and of what a later view adds; gzip, in KB. */
const first_view_kb_max = 250;
const later_view_kb_max = 80;
/** The editors come when a query or code is shown, whichever view that is on. */
const editors = ['queries/editor.tsx', 'plugins/editor/code_editor.tsx'];
const editor_kb_max = 125;

type Chunk = { file: string; isEntry?: boolean; imports?: string[]; dynamicImports?: string[] };

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

/** The size of each script that was asked for: most views share most of theirs. */
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

test('a first view loads at most 250 KB of JavaScript, whichever it is', () => {
  assert.ok(views.length >= 5, 'The views are found.');
  const heavy = views
    .map((name) => [name, Math.round(kilobytes(new Set([...around, ...filesWith(name)])))] as const)
    .filter(([, size]) => size > first_view_kb_max);
  assert.deepEqual(heavy, []);
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
