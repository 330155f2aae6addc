/**
 * Takes the pictures of the console that docs/console.md and the README show
 * (`npm run docs:screenshots`): a server as users start it, filled by its demo and by what is asked
 * of its API, looked at in Chromium. Fails when a picture is heavier than a page should carry.
 */
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { chooseDestination } from '../../test/console/choose_destination.ts';
import { root } from '../child.ts';
import { openFilledConsole, signIn } from './filled_console.ts';
import type { Filled } from './filled_console.ts';

const target = join(root, 'docs/screenshots');
const picture_bytes_max = 145 * 1024;
const all_bytes_max = 1_200 * 1024;

/** Opens a page, and waits for the text that shows that it is complete. */
type Shot = {
  name: string;
  path: string;
  shown: string;
  theme?: 'dark';
  height?: number;
  prepare?: Prepare;
};
type Prepare = (page: Page) => Promise<unknown>;

const { page, filled, close } = await openFilledConsole();
try {
  await mkdir(target, { recursive: true });
  await signIn(page);
  for (const shot of shotsOf(filled)) await take(page, shot);
  await checkWeight();
} finally {
  await close();
}

function shotsOf({ export_id, demo_id, run_id, event_id, organization_id }: Filled): Shot[] {
  const demo = `/projects/1/exports/${demo_id}`;
  return [
    { name: 'exports', path: '/projects/1/exports', shown: 'Events to the lake' },
    { name: 'exports_dark', path: '/projects/1/exports', shown: 'Orders by day', theme: 'dark' },
    {
      name: 'palette',
      path: '/projects/1/exports',
      shown: 'Orders by day',
      prepare: async (page) => {
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: 'Page, export or action' }).fill('ord');
        await page.getByRole('option', { name: 'Orders by day' }).waitFor();
      },
    },
    {
      name: 'map',
      path: `/projects/1/exports/${export_id}`,
      shown: 'Slots in view as a table',
      prepare: async (page) => {
        await page.getByRole('button', { name: 'Day', exact: true }).click();
        await page.waitForURL('**from=**');
      },
    },
    { name: 'run', path: `${demo}/runs/${run_id}`, shown: 'Completed', height: 620 },
    {
      name: 'metrics',
      path: `${demo}/metrics`,
      shown: 'Rows delivered',
      prepare: async (page) => {
        await page.getByRole('button', { name: 'Day', exact: true }).click();
        await page.waitForURL('**from=**');
      },
    },
    {
      name: 'new_export',
      path: '/projects/1/exports/new',
      shown: 'Destination',
      prepare: (page) => chooseDestination(page, 'S3'),
    },
    {
      name: 'find',
      path: `/projects/1/find?uuid=${event_id}`,
      shown: 'Web shop demo',
      height: 620,
    },
    {
      name: 'members',
      path: `/organizations/${organization_id}/members`,
      shown: 'owner@example.com',
    },
  ];
}

async function take(
  page: Page,
  { name, path, shown, theme, height = 800, prepare }: Shot,
): Promise<void> {
  await page.emulateMedia({ colorScheme: theme ?? 'light', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 1280, height });
  await page.goto(path);
  await page.getByText(shown).first().waitFor();
  await prepare?.(page);
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: join(target, `${name}.png`) });
}

async function checkWeight(): Promise<void> {
  const names = (await readdir(target)).filter((name) => name.endsWith('.png'));
  let all = 0;
  for (const name of names) {
    const { size } = await stat(join(target, name));
    console.log(`${name}: ${Math.round(size / 1024)} KB`);
    if (size > picture_bytes_max) throw new Error(`${name} has ${size} bytes: show less on it.`);
    all += size;
  }
  if (all > all_bytes_max) throw new Error(`The pictures have ${all} bytes: take fewer.`);
}
