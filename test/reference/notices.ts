import { failed, endedRun } from '../factories/batch_exports/ended_runs.ts';
import { newExport } from '../factories/batch_exports/batch_exports.ts';
import { webhook_secret } from '../factories/notices.ts';
import { sendDueNotices } from '../../server/engine/notices/send.ts';
import { public_url } from './world.ts';
import type { StoryWorld } from './world.ts';

/** Notice targets, and the notices sent to them. */
export async function tellNotices(world: StoryWorld): Promise<void> {
  for (const place of [world.project, world.organization]) await noticesAt(world, place);
}

async function noticesAt(world: StoryWorld, place: string): Promise<void> {
  const { ask, harness, home, receiver } = world;
  const base = `${place}notice_targets/`;
  const url = `${receiver.url}/sluice`;
  const { id } = await ask('POST', base, { type: 'webhook', url, secret: webhook_secret });
  const one = `${base}${id}/`;
  await ask('GET', base);
  await ask('GET', one);
  await ask('PATCH', one, { enabled: true, events: ['failing', 'recovered'] });
  await ask('PUT', one, { enabled: true, events: ['failing', 'recovered'] });
  await ask('POST', `${one}test/`);
  const exported = await newExport(home, { name: 'Lake' });
  await endedRun(harness, exported.id, failed);
  await sendDueNotices({ ...harness.deps, public_url });
  const deliveries = `${place}notice_deliveries/`;
  const { results } = await ask('GET', `${deliveries}?target=${id}`);
  await ask('GET', `${deliveries}${results[0].id}/`);
  await ask('POST', `${deliveries}${results[0].id}/send/`);
  await ask('DELETE', one);
  await ask('DELETE', `${place}batch_exports/${exported.id}/`);
}
