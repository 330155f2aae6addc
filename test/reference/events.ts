import { countEvents } from '../../server/engine/ingest/catalogue/count_events.ts';
import { sharedRefusedEvents } from '../../server/engine/ingest/warnings/refused_events.ts';
import { sharedWarnings } from '../../server/engine/ingest/warnings/warnings.ts';
import { eventually } from '../eventually.ts';
import type { StoryWorld } from './world.ts';

/** Ingestion of events, the keys that send them, their state, and their removal. */
export async function tellEvents(world: StoryWorld): Promise<void> {
  const { ask, project } = world;
  await ask('POST', `${project}events/`, {
    events: [
      {
        event: 'signed up',
        distinct_id: 'ada@example.com',
        timestamp: '2026-03-02T08:59:00Z',
        properties: { plan: 'team', $set: { name: 'Ada' } },
      },
    ],
  });
  await eventually('the event is not there', async () => {
    const { results } = await ask('GET', `${project}events/?limit=2`);
    return results.length > 0;
  });
  await ask('GET', `${project}events/counts/?interval=day`);
  await ask('GET', `${project}retention/?retention=days&retention_days=90`);
  await catalogue(world);
  await writeKeys(world);
  await ingestionRules(world);
  await plannedEvents(world);
  await warnings(world);
  await erasures(world);
}

async function catalogue({ ask, harness, project }: StoryWorld): Promise<void> {
  const bought = { event: 'bought', distinct_id: 'ada@example.com' };
  await ask('POST', `${project}events/`, {
    events: Array.from({ length: 10 }, (_, number) => ({
      ...bought,
      timestamp: `2026-03-02T08:4${number}:00Z`,
      properties: { total: number + 0.5, coupon: number === 0 ? 7 : 'SPRING' },
    })),
  });
  await countEvents(harness.deps, new AbortController().signal);
  await ask('GET', `${project}event_catalogue/`);
  await ask('GET', `${project}event_catalogue/properties/?event=bought`);
  const base = `${project}schema_columns/`;
  await ask('GET', `${base}proposals/`);
  await ask('POST', `${base}freeze/`, { properties: [{ property: 'total' }] });
  const { id } = await ask('POST', base, { property: 'plan', type: 'text', source: 'person' });
  await ask('GET', base);
  await ask('GET', `${base}${id}/`);
  await ask('DELETE', `${base}${id}/`);
}

async function writeKeys({ ask, project }: StoryWorld): Promise<void> {
  const base = `${project}write_keys/`;
  const { id } = await ask('POST', base, { name: 'Web site' });
  const one = `${base}${id}/`;
  await ask('GET', base);
  await ask('GET', one);
  await ask('PATCH', one, { name: 'Web shop' });
  await ask('PUT', one, { name: 'Web shop' });
  await ask('POST', `${one}roll/`, { overlap_seconds: 86_400 });
  await ask('DELETE', one);
}

async function ingestionRules({ ask, project }: StoryWorld): Promise<void> {
  const base = `${project}ingestion_rules/`;
  const { id } = await ask('POST', base, {
    name: 'Hash mail addresses',
    action: 'hash_property',
    property: 'email',
  });
  const { id: other } = await ask('POST', base, {
    name: 'Drop debug events',
    action: 'drop_event',
    events: ['debug*'],
  });
  await ask('GET', base);
  await ask('GET', `${base}${id}/`);
  await ask('PATCH', `${base}${id}/`, { events: ['signed up'] });
  await ask('PUT', `${base}${id}/`, { name: 'Hash mails', action: 'hash_property' });
  await ask('POST', `${base}order/`, { ids: [other, id] });
  const event = {
    event: 'signed up',
    distinct_id: 'ada',
    properties: { email: 'ada@example.com' },
  };
  await ask('POST', `${base}try/`, { event: JSON.stringify(event) });
  await ask('GET', `${base}counts/`);
  for (const one of [id, other]) await ask('DELETE', `${base}${one}/`);
}

async function plannedEvents({ ask, project }: StoryWorld): Promise<void> {
  const base = `${project}planned_events/`;
  const { id } = await ask('POST', base, {
    event: 'order paid',
    properties: [{ name: 'total', type: 'number', required: true }],
  });
  await ask('GET', base);
  await ask('GET', `${base}${id}/`);
  await ask('PATCH', `${base}${id}/`, { mode: 'refuse' });
  await ask('PUT', `${base}${id}/`, { event: 'order paid', mode: 'warn' });
  await ask('POST', `${base}import/`, {
    plan: {
      events: [
        {
          name: 'order paid',
          rules: {
            properties: { total: { type: 'number', minimum: 0 } },
            required: ['total'],
          },
        },
      ],
    },
  });
  await ask('DELETE', `${base}${id}/`);
}

async function warnings({ ask, harness, home, project }: StoryWorld): Promise<void> {
  // An id that names nobody is refused, and counted.
  const body = { api_key: home.project.api_token, event: 'viewed', distinct_id: 'undefined' };
  await harness.request('POST', '/e/', { body });
  await sharedWarnings(harness.deps).store();
  await ask('GET', `${project}ingestion_warnings/`);
  await refusedEvents({ ask, harness, home, project });
}

async function refusedEvents({
  ask,
  harness,
  home,
  project,
}: Pick<StoryWorld, 'ask' | 'harness' | 'home' | 'project'>): Promise<void> {
  const base = `${project}refused_events/`;
  const event = { event: 'bought', timestamp: '2026-03-02T08:58:00Z' };
  for (const properties of [{ total: 12 }, { total: 40 }])
    await harness.request('POST', '/batch/', {
      body: { api_key: home.project.api_token, batch: [{ ...event, properties }] },
    });
  await sharedRefusedEvents(harness.deps).store();
  const { id } = (await ask('GET', base)).results[0];
  const { content } = await ask('GET', `${base}${id}/`);
  const corrected = JSON.parse(content) as { batch: object[] };
  Object.assign(corrected.batch[0]!, { distinct_id: 'ada@example.com' });
  await ask('POST', `${base}${id}/resend/`, { content: JSON.stringify(corrected) });
  await ask('POST', `${base}resend/`, {});
}

async function erasures({ ask, project }: StoryWorld): Promise<void> {
  const base = `${project}erasures/`;
  const persons = { distinct_ids: ['ada@example.com'] };
  await ask('POST', `${base}preview/`, persons);
  const { id } = await ask('POST', base, persons);
  await ask('GET', base);
  await ask('GET', `${base}${id}/`);
  await ask('GET', `${base}${id}/copies/`);
  await ask('GET', `${base}${id}/tools/`);
}
