import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { root } from '../child.ts';
import { errorPage, linkErrors, readErrors } from './error_pages.ts';
import { relativeAddress, replaceLinks } from './links.ts';
import { fileOf, findPages } from './pages.ts';
import type { Pages } from './pages.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
/** Matches pages that explain the code; a search for a task does not find them. */
const unsearched = /^(?:project|decisions|files)\//;

/** Keeps a page out of the search. */
export const not_searched = 'search: false';

/** The settings and the theme, at the places where the generator looks for them. */
const entries = {
  'config.js': "export { site_config as default } from '../../scripts/site/site_config.ts';\n",
  'theme/index.js':
    "export { theme as default } from '../../../scripts/site/theme.ts';\n" +
    "import '../../../scripts/site/style.css';\n",
};

/** Writes the generator's input into a folder: settings, theme, and the pages in `pages/`. */
export function stageSite(site: string): void {
  const folder = join(site, 'pages');
  rmSync(folder, { recursive: true, force: true });
  for (const [name, text] of Object.entries(entries)) {
    mkdirSync(dirname(join(site, '.vitepress', name)), { recursive: true });
    writeFileSync(join(site, '.vitepress', name), text);
  }
  const all = findPages();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const errors = readErrors(read('docs/errors.md'));
  for (const [file, path] of all.pages) {
    const text = file === 'docs/errors.md' ? linkErrors(read(file)) : read(file);
    write(path, heading(path, file) + withLinks(all, file, path, text));
  }
  for (const row of errors) {
    const path = `errors/${row.code}.md`;
    const text = withLinks(all, 'docs/error.md', path, errorPage(row));
    write(path, `---\nprev: false\nnext: false\n---\n\n${text}`);
  }
  for (const [file, path] of all.files)
    write(path, `${heading(path, file)}# ${file}\n\n${fenced(file, read(file))}`);
  write('public/icon.svg', read('console/icon.svg'));
  for (const [file, path] of all.pictures) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, file), join(folder, path));
  }
}

function heading(path: string, file: string): string {
  const lines = [
    ...(unsearched.test(path)
      ? [not_searched, 'sidebar: false', 'prev: false', 'next: false']
      : []),
    `source: ${file}`,
  ];
  return `---\n${lines.join('\n')}\n---\n\n`;
}

function withLinks(all: Pages, file: string, path: string, text: string): string {
  return replaceLinks(file, text, (linked) => {
    // A link of docs/errors.md to a page that only the site has.
    if (/^docs\/errors\/\w+\.md$/.test(linked)) return `./${linked.slice('docs/'.length)}`;
    const target = fileOf(linked) ?? '';
    const to = all.pages.get(target) ?? all.files.get(target) ?? all.pictures.get(target);
    return to === undefined ? undefined : relativeAddress(path, to);
  });
}

function fenced(file: string, text: string): string {
  const known: Record<string, string> = { '.json': 'json', '.yaml': 'yaml', '.service': 'ini' };
  return `\`\`\`\`${known[extname(file)] ?? 'text'}\n${text}\`\`\`\`\n`;
}
