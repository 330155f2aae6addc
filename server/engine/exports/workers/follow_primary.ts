import { isoInstant } from '../../../platform/clock.ts';
import { commandLine } from '../../../platform/command_line.ts';
import { countLost, notePrimary } from '../../../platform/postgres/control_store.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import type { Engine } from '../engine.ts';
import { setAside } from '../runs/hold_until_reconciled.ts';
import type { Beat } from './heartbeat.ts';

/**
 * Follows the primary from heartbeat to heartbeat. Records a promoted standby before any worker
 * claims runs there. If it lacks commits that the previous primary had confirmed, which a
 * synchronous standby never does, exports wait until their destinations were asked for receipts.
 * Otherwise the latest deliveries would be delivered again.
 */
export function followPrimary(engine: Engine): (beat: Beat) => Promise<void> {
  let confirmed: Beat | undefined;
  return async (beat) => {
    // A single process must record a primary that was promoted after the process started.
    if (confirmed === undefined) await notePrimary(engine.db);
    else if (beat.epoch > confirmed.epoch) await meetPrimary(engine, confirmed, beat);
    // Set last: a failed step is retried at the next heartbeat, with the earlier evidence.
    confirmed = beat;
  };
}

async function meetPrimary({ db, log }: Engine, before: Beat, now: Beat): Promise<void> {
  const lost_bytes = before.position === null ? 0 : await countLost(db, before.position);
  const timelines = { before: before.epoch, now: now.epoch };
  if (lost_bytes > 0) {
    const at = isoInstant(await databaseInstant(db));
    await setAside(db, { taken_at: at, control_taken_at: at });
    log.error(
      { ...timelines, lost_bytes },
      'PostgreSQL failed over to a standby that lacks acknowledged commits; exports wait until ' +
        `\`${commandLine('reconcile')}\` has asked their destinations`,
    );
  } else log.warn(timelines, 'PostgreSQL failed over to a standby; no loss is known');
  await notePrimary(db, { lost_bytes });
}
