import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import type { Filled } from './filled_console.ts';

const widths = [1440, 1024, 390] as const;
const themes = ['light', 'dark'] as const;

/** The main pages of the console, by the names of their pictures. */
export function mainPages(filled: Filled): Record<string, string> {
  const { export_id, demo_id, run_id, event_id, failing_id, organization_id } = filled;
  const { plugin_id, domain_id, empty_id } = filled;
  const project = '/projects/1';
  const organization = `/organizations/${organization_id}`;
  const demo = `${project}/exports/${demo_id}`;
  return {
    exports: `${project}/exports`,
    map: demo,
    map_many: `${project}/exports/${export_id}`,
    runs: `${demo}/runs`,
    run: `${demo}/runs/${run_id}`,
    incident: `${project}/exports/${failing_id}/incident`,
    timeline: `${demo}/timeline`,
    metrics: `${demo}/metrics`,
    export_notices: `${demo}/notices`,
    export_settings: `${demo}/settings`,
    new_export: `${project}/exports/new`,
    proof: `${demo}/proof`,
    find: `${project}/find?uuid=${event_id}`,
    events: `${project}/events`,
    event_catalogue: `${project}/event_catalogue`,
    event_schema: `${project}/event_catalogue/schema`,
    tracking_plan: `${project}/tracking_plan`,
    ingestion_rules: `${project}/ingestion_rules`,
    lake: `${project}/lake`,
    lake_table: `${project}/lake/${filled.lake_table_id}`,
    downloads: `${project}/downloads`,
    notices: `${project}/notices`,
    plugins: `${project}/plugins`,
    plugin: `${project}/plugins/pipeline_destinations/${plugin_id}`,
    plugin_code: `${project}/plugins/pipeline_destinations/${plugin_id}/code`,
    erasures: `${project}/erasures`,
    erasure: `${project}/erasures/${filled.erasure_id}`,
    project_settings: `${project}/settings`,
    members: `${organization}/members`,
    keys: `${organization}/keys`,
    connections: `${organization}/connections`,
    domains: `${organization}/domains`,
    domain: `${organization}/domains/${domain_id}`,
    security: `${organization}/security`,
    activity: `${organization}/activity`,
    configuration: `${organization}/configuration`,
    organization_settings: `${organization}/settings`,
    account: '/account',
    empty_exports: `/projects/${empty_id}/exports`,
    empty_events: `/projects/${empty_id}/events`,
  };
}

/**
 * Takes screenshots of a page in both themes and three widths, as `<name>_<theme>_<width>.png`, and
 * puts all six on one sheet, `<name>.png`.
 */
export async function takeEverywhere(page: Page, name: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const theme of themes)
    for (const width of widths) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: 900 });
      await settled(page);
      await page.screenshot({ path: join(folder, `${name}_${theme}_${width}.png`) });
    }
}

/** Puts the six pictures of a page on one sheet. */
export async function takeSheet(browser: Browser, name: string, folder: string): Promise<void> {
  const rows = themes.map((theme) => {
    const pictures = widths.map((width) => `<img src="${name}_${theme}_${width}.png">`);
    return `<div>${pictures.join('')}</div>`;
  });
  const style = 'body { margin: 0; background: #888 } div { display: flex; gap: 8px; margin: 8px }';
  const document = join(folder, `${name}.html`);
  await writeFile(document, `<style>${style} img { height: 560px }</style>${rows.join('')}`);
  const sheet = await browser.newPage({ viewport: { width: 1824, height: 1150 } });
  await sheet.goto(pathToFileURL(document).href);
  await sheet.screenshot({ path: join(folder, `${name}.png`) });
  await sheet.close();
}

/** Waits until the page is complete: its title, and all requests to the server. */
export async function showWhole(page: Page, path: string): Promise<void> {
  await page.setViewportSize({ width: widths[0], height: 900 });
  await page.goto(path);
  await page.locator('h1').first().waitFor();
  await page.waitForLoadState('networkidle');
}

/** Colours change for a moment, and a canvas is drawn again after that. */
function settled(page: Page): Promise<unknown> {
  return page.evaluate(
    `Promise.all(document.getAnimations().map(({ finished }) => finished)).then(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))`,
  );
}
