import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { root } from '../child.ts';
import { linkedFrom } from './links.ts';

/** Endings of files that no page shows as text. */
const pictures: ReadonlySet<string> = new Set(['.png', '.svg', '.webp', '.gif']);

/** Contents of the site: paths of the repository, each with its path in the site. */
export type Pages = {
  /** Markdown; the path in the site ends with .md. */
  pages: ReadonlyMap<string, string>;
  /** Files to which a page links; each is shown as a page with its text. */
  files: ReadonlyMap<string, string>;
  pictures: ReadonlyMap<string, string>;
};

/** Finds all pages of docs/ and examples/, and the files that they and the README link to. */
export function findPages(): Pages {
  const pages = new Map<string, string>();
  const files = new Map<string, string>();
  const shown = new Map<string, string>();
  const waiting = ['README.md', ...globSync('{docs,examples}/**/*.md', { cwd: root })];
  for (const path of waiting) {
    const file = fileOf(path);
    if (file === undefined || pages.has(file)) continue;
    if (file.endsWith('.md')) {
      pages.set(file, pageOf(file));
      waiting.push(...linkedFrom(file, readFileSync(join(root, file), 'utf8')));
    } else if (pictures.has(extname(file))) shown.set(file, pageOf(file));
    else files.set(file, `files/${file}.md`);
  }
  return { pages, files, pictures: shown };
}

/** Returns the target of a link: for a folder its README; undefined for a folder without one. */
export function fileOf(path: string): string | undefined {
  const whole = join(root, path);
  if (!existsSync(whole)) throw new Error(`A page links to ${path}, which is not there.`);
  if (!statSync(whole).isDirectory()) return path;
  return existsSync(join(whole, 'README.md')) ? join(path, 'README.md') : undefined;
}

/** Returns the path in the site: docs/ is its root, and pages about the code are in project/. */
function pageOf(file: string): string {
  if (file === 'README.md') return 'start.md';
  const path = file.replace(/(^|\/)README\.md$/, '$1index.md');
  if (path.startsWith('docs/')) return path.slice('docs/'.length);
  if (path.startsWith('examples/')) return path;
  const name = path.endsWith('/index.md') ? path.replace('/index.md', '.md') : path;
  return `project/${basename(name).toLowerCase()}`;
}
