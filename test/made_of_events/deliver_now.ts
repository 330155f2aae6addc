import assert from 'node:assert/strict';
import { isoInstant, systemClock } from '../../server/platform/clock.ts';
import { projectBase } from '../factories/batch_exports/batch_exports.ts';
import { until } from '../factories/batch_exports/delivering_harness.ts';
import type { TestOrganization } from '../harness.ts';

const hour_ms = 3_600_000;

/** Lets the export deliver all undelivered rows, and waits until they are there. */
export async function deliverNow(home: TestOrganization, id: string): Promise<void> {
  const url = `${projectBase(home)}${id}/`;
  const hour = Math.floor(systemClock.now() / hour_ms) * hour_ms;
  const asked = await home.ask('POST', `${url}backfill/`, {
    start_at: isoInstant(hour - hour_ms),
    end_at: isoInstant(hour + hour_ms),
  });
  assert.equal(asked.status, 200, asked.text);
  const ended = await until(
    () => home.ask('GET', `${url}backfills/${asked.body.backfill.id}/`),
    ({ status }) => !['Starting', 'Running'].includes(status),
  );
  assert.equal(ended.status, 'Completed', JSON.stringify(ended));
}
