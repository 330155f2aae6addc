import type { HttpReceiver } from '../servers/http_receiver.ts';
import type { Walker } from './walker.ts';

/** The state of an export in the API, which all places must show. */
export type Told = {
  code: string;
  detail: string;
  since: string | null;
  rows_waiting: number | null;
  cause: string | null;
};

/** The words of each place about an export at one moment. */
export type Signs = {
  list: string;
  head: string;
  incident: string;
  run: string;
  map: string;
  /** The sentence of the newest notice; empty if none is due. */
  notice: string;
};

/** The first words of a state's text, and the words of its slots on the map. */
const words: Record<string, { state: string; slot: string }> = {
  retrying: { state: 'Retrying', slot: 'Retrying' },
  failing: { state: 'Failing', slot: 'Failed' },
};

/** Reads an export in the list, its head, incident, runs, map and notice. */
export async function lookAt(
  { page, shot }: Walker,
  receiver: HttpReceiver,
  { project_id, export_id, name }: { project_id: number; export_id: string; name: string },
  picture: string,
): Promise<Signs> {
  const textOf = async (selector: string) =>
    (await page.locator(selector).first().innerText()).replaceAll(/\s+/g, ' ').trim();
  const exports = `/projects/${project_id}/exports`;
  await page.goto(exports);
  const row = page.getByRole('row').filter({ hasText: name }).first();
  await row.waitFor();
  const list = (await row.innerText()).replaceAll(/\s+/g, ' ').trim();
  await shot(`outage_${picture}_list`);
  await page.goto(`${exports}/${export_id}/incident`);
  await page.locator('.incident').waitFor();
  await page.locator('.standing_sentence .state').waitFor();
  const head = await textOf('.standing_sentence');
  const incident = await textOf('.incident');
  await shot(`outage_${picture}_incident`);
  await page.locator('.run_rows [role=row] a').first().click();
  // A worker may retry the run at this moment. The page says so, and soon why it failed.
  await page.locator('.outcome').filter({ hasNotText: 'A worker delivers' }).first().waitFor();
  const run = await textOf('.outcome');
  await shot(`outage_${picture}_run`);
  await page.getByRole('link', { name: 'Its slots on the map' }).click();
  await page.getByRole('list', { name: 'Slots in view' }).waitFor();
  await shot(`outage_${picture}_map`);
  const map = await textOf('[aria-label="Slots in view"]');
  const notices = receiver.requests
    .map(
      ({ body }) => JSON.parse(body) as { data: { batch_export: { id: string }; detail: string } },
    )
    .filter(({ data }) => data.batch_export.id === export_id);
  return { list, head, incident, run, map, notice: notices.at(-1)?.data.detail ?? '' };
}

/** Returns a text without the marks that separate labels from API keys, and code from words. */
const plain = (text: string) => text.replaceAll(/[“”`]/g, '').toLowerCase();

const said = (places: (keyof Signs)[], text: string) =>
  places.map((place) => [place, text] as const);

/**
 * Lists what the places say differently from the API: state, cause, since when, and rows waiting.
 */
export function disagreements(told: Told, signs: Signs): string[] {
  const { state, slot } = words[told.code] ?? { state: told.code, slot: told.code };
  const clock = told.since?.slice(11, 16) ?? '';
  const rows = `${(told.rows_waiting ?? 0).toLocaleString('en')} rows`;
  const [cause = ''] = /^[^.]+\./.exec(told.cause ?? '') ?? [];
  // Attempts that Sluice repeats on its own cause no notice.
  const noticed: (keyof Signs)[] = told.code === 'failing' ? ['notice'] : [];
  const wanted = [
    ...said(['list', 'head', ...noticed], state),
    ...said(['map'], slot),
    ...said(['list', 'head', 'incident', 'run', ...noticed], cause),
    ...said(['list', 'head', 'incident'], clock),
    ...said(['list', 'head', 'incident'], rows),
  ];
  return wanted
    .filter(([place, text]) => !plain(signs[place]).includes(plain(text)))
    .map(([place, text]) => `${place} does not say "${text}", but: ${signs[place]}`);
}
