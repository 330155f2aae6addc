/**
 * Takes the main pages of the console in both themes and three widths, to be looked at:
 * `npm run look [-- --folder looks --pages exports,map]`. The folder gets each picture as
 * `<page>_<theme>_<width>.png`, and the six of a page on one sheet as `<page>.png`. Fails when a
 * page wrote an error to the console of the browser.
 */
import { resolve } from 'node:path';
import { readOptions } from '../options.ts';
import { openFilledConsole, signIn } from './filled_console.ts';
import { mainPages, showWhole, takeEverywhere, takeSheet } from './main_pages.ts';

const options = readOptions({ folder: 'looks', pages: '' });
const folder = resolve(options.folder);
const { browser, page, filled, close } = await openFilledConsole();
try {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error}`));
  page.on('console', (message) => {
    // Before the sign-in, the server refuses to name the account.
    const isRefusal = message.text().includes('status of 401');
    if (!isRefusal && ['error', 'warning'].includes(message.type()))
      complaints.push(`${page.url()}: ${message.text()}`);
  });
  const wanted = options.pages === '' ? undefined : options.pages.split(',');
  for (const [name, path] of Object.entries({ login: '/login', ...mainPages(filled) })) {
    if (name === 'exports') await signIn(page);
    if (wanted !== undefined && !wanted.includes(name)) continue;
    await showWhole(page, path);
    await takeEverywhere(page, name, folder);
    await takeSheet(browser, name, folder);
    console.log(name);
  }
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
} finally {
  await close();
}
