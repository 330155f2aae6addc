import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { workOneStep } from '../../../server/engine/privacy/erasures/work.ts';
import type { TestOrganization } from '../../harness.ts';
import { newExport, projectBase } from '../batch_exports/batch_exports.ts';
import { until } from '../batch_exports/delivering_harness.ts';
import type { DeliveringHarness } from '../batch_exports/delivering_harness.ts';

/** The rows that an export of a test delivers, and its files. */
type Exported = {
  model?: string;
  range?: { start_at: string; end_at: string };
  include_events?: string[];
  config?: object;
  /** Another destination than files below the prefix. */
  destination?: object;
  timezone?: string;
  custom_query?: string;
  /** The fields for the write mode of a table. */
  rule?: object;
};

const lately = () => ({
  start_at: new Date(Date.now() - 3_600_000).toISOString(),
  end_at: new Date().toISOString(),
});

/** Returns helpers for tests of erasures; exported rows need a harness that delivers. */
export function erasing(opened: () => Pick<DeliveringHarness, 'harness'>) {
  // Uses a key instead of the organization's own client, because a restored server has the key too.
  const ask = (home: TestOrganization, method: string, path: string, body?: object) =>
    opened().harness.request(method, `/api/projects/${home.project.id}/${path}`, {
      key: home.key,
      ...(body === undefined ? {} : { body }),
    });
  const send = async (home: TestOrganization, events: object[]) =>
    (await ask(home, 'POST', 'events/', { events })).body;

  /** Creates an export to files that has delivered the last hour. */
  async function exported(
    home: TestOrganization,
    prefix: string,
    { model = 'events', range = lately(), include_events = [], ...more }: Exported = {},
  ) {
    const { id } = await newExport(home, {
      model,
      timezone: more.timezone ?? null,
      ...more.rule,
      ...(more.custom_query === undefined ? {} : { custom_query: more.custom_query }),
      destination: more.destination ?? {
        type: 'File',
        config: { prefix, include_events, ...more.config },
      },
    });
    const url = `${projectBase(home).slice(`/api/projects/${home.project.id}/`.length)}${id}/`;
    await ask(home, 'POST', `${url}backfill/`, { ...range, mode: 'all' });
    await until(
      () => ask(home, 'GET', `${url}backfills/`),
      ({ results }) => results.every((one: { status: string }) => one.status === 'Completed'),
    );
    return id as string;
  }

  /** Works until the erasure has ended, or reached the step. A waiting step is retried later. */
  async function work(home: TestOrganization, id: string, at = 'done') {
    const { db, engine } = opened().harness.deps;
    const look = async () => (await ask(home, 'GET', `erasures/${id}/`)).body;
    const began = performance.now();
    for (let { step } = await look(); step !== at;) {
      // As if minutes had passed, after which the store has removed the files of rewritten rows.
      if (step === 'files')
        await db.run(sql`UPDATE erasures SET removed_at = '2026-01-01Z' WHERE id = ${id}`);
      await db.run(sql`UPDATE erasures SET due_at = '2026-01-01Z' WHERE id = ${id}`);
      await workOneStep(engine, new AbortController().signal, 0);
      const now = await look();
      assert.ok(performance.now() - began < 60_000, `is not at ${at}: ${JSON.stringify(now)}`);
      if (now.step === step) await pause(50);
      step = now.step;
    }
    return look();
  }

  return { ask, send, exported, work };
}
