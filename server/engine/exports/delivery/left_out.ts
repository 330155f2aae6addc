import { counted } from '../../../platform/counted.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import { earliestOf, removedFrom } from '../../model/ledger/removed.ts';
import { largeSessions, session_events_max } from '../../model/models/sessions.ts';
import { say } from './attempt.ts';
import type { Attempt } from './attempt.ts';

/**
 * Logs that retention has removed a part of the run's range, and that the run delivers the rest.
 */
export async function sayRemoved(attempt: Attempt): Promise<void> {
  const { engine, run } = attempt;
  const from = earliestOf(fromStored(run.selection));
  // Retention never removes rows younger than a day, so scheduled runs skip the query.
  if (from > engine.clock.now() - 24 * 3_600_000) return;
  const sentence = await removedFrom(engine.db, run.team_id, from);
  if (sentence !== '') await say(attempt, 'WARNING', sentence);
}

/** Logs the sessions with too many events, which the run leaves out. */
export async function sayLarge({ engine, run, ...attempt }: Attempt): Promise<void> {
  if (run.model !== 'sessions' || run.selection.length === 0) return;
  const { text, parameters } = largeSessions(run.team_id, fromStored(run.selection));
  const [found] = await engine.clickhouse.rows<{ sessions: string | number; ids: string[] }>({
    query: `SELECT count() AS sessions, groupArray(3)(session_id) AS ids FROM ${text}`,
    query_params: parameters,
    abort_signal: attempt.signal,
  });
  if (found === undefined || Number(found.sessions) === 0) return;
  const named = found.ids.map((id) => JSON.stringify(id.slice(0, 80))).join(', ');
  const message =
    `${counted(Number(found.sessions), 'session')} with more than ${session_events_max} events ` +
    `left out (${named}): give each session an id of its own.`;
  await say({ engine, run, ...attempt }, 'WARNING', message);
}
