import MiniSearch from 'minisearch';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { search_options } from '../../scripts/site/search_options.ts';
import { root } from '../house/source_files.ts';

const folder = join(root, 'site/dist');

/** Lists the pages of the built site, without their ending. */
export function builtPages(): string[] {
  return globSync('**/*.html.br', { cwd: folder }).map((path) => path.slice(0, -'.html.br'.length));
}

/** Returns the text of a file of the built site. */
export function builtText(path: string): string {
  return brotliDecompressSync(readFileSync(join(folder, `${path}.br`))).toString('utf8');
}

/** Opens the index of the built search, as the page of the site does. */
export async function openSearch(): Promise<(query: string) => string[]> {
  const [chunk] = globSync('assets/chunks/@localSearchIndexroot.*.js.br', { cwd: folder });
  const code = builtText(chunk!.slice(0, -'.br'.length));
  const module = (await import(
    `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`
  )) as { default: string };
  const index = MiniSearch.loadJSON(module.default, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions: search_options,
  });
  return (query) => index.search(query).map(({ id }) => String(id));
}
