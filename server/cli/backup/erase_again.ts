import sql from 'sql-template-tag';
import { erasureEntry } from '../../api/erasures/entry.ts';
import { createErasure } from '../../api/erasures/store.ts';
import { openCriteria } from '../../engine/privacy/erasures/criteria.ts';
import { workOneStep } from '../../engine/privacy/erasures/work.ts';
import { storedErasedIds } from '../../engine/exports/reconcile/stored_erased_ids.ts';
import type { Engine } from '../../engine/exports/engine.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { commandLine } from '../../platform/command_line.ts';
import type { LaterErasure, LaterKnown } from './later_backups.ts';

/** Longer than any process caches what it read from the analytics store. */
const memory_seconds = 12;

/**
 * Repeats the erasures that were done after the restored backup: one erasure per project, with the
 * restored store's distinct ids, found by their hashes. Their rows are gone afterwards, unless they
 * wait for something in progress; the server does the rest. Returns sentences for the operator.
 */
export async function eraseAgain(
  engine: Engine,
  known: LaterKnown,
  signal: AbortSignal,
): Promise<string[]> {
  const closed = await dropClosed(engine, known.erasures);
  const again = new Map<number, string>();
  for (const team_id of new Set(done(known.erasures).map((one) => one.team_id))) {
    const id = await askAgain(engine, team_id, known.erasures, signal);
    if (id !== undefined) again.set(team_id, id);
  }
  await removeRows(engine, [...again.values()], signal);
  return [
    ...known.unread,
    ...known.erasures.map((one) =>
      sentenceOf(one, { again: again.get(one.team_id), is_closed: closed.has(one.id) }),
    ),
    ...known.back.map(
      ({ kind, name }) =>
        `The ${kind} ${name} was deleted after the backup, and has been restored: delete it again.`,
    ),
    `No backup in this place has the erasures after ${known.until}: look them up in your own ` +
      `records, and request them again. \`${commandLine('verify')}\` names those for which a ` +
      'delivery was written again.',
  ];
}

/**
 * The subject of an erasure in progress is sealed. If the restored backup lacks the secret key that
 * sealed it, the erasure could never continue, so it is dropped. Returns the dropped ones.
 */
async function dropClosed({ db, secrets }: Engine, erasures: LaterErasure[]): Promise<Set<string>> {
  const closed = new Set<string>();
  for (const { id } of erasures.filter((one) => !one.is_finished)) {
    const row = await db.row<{ criteria_sealed: Buffer }>(
      sql`SELECT criteria_sealed FROM erasures WHERE id = ${id}`,
    );
    try {
      openCriteria(secrets, id, row!.criteria_sealed);
    } catch {
      await db.run(sql`DELETE FROM erasures WHERE id = ${id}`);
      closed.add(id);
    }
  }
  return closed;
}

function done(erasures: LaterErasure[]): LaterErasure[] {
  return erasures.filter(({ kind, is_finished }) => is_finished && kind === 'persons');
}

/** Requests one erasure for all of them; undefined if the store has none of their ids. */
async function askAgain(
  engine: Engine,
  team_id: number,
  erasures: LaterErasure[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { db, secrets } = engine;
  const own = done(erasures).filter((one) => one.team_id === team_id);
  const own_ids = own.map(({ id }) => id);
  const distinct_ids: string[] = [];
  for await (const ids of storedErasedIds(engine, team_id, signal, own_ids))
    distinct_ids.push(...ids);
  if (distinct_ids.length === 0) return undefined;
  // The decision about late events of a remembered id is kept.
  const isRefused = own.every(({ late_events }) => late_events === 'refuse');
  return db.transaction(async (tx) => {
    const project = await tx.row<{ organization_id: string }>(
      sql`SELECT organization_id FROM projects WHERE id = ${team_id} FOR KEY SHARE`,
    );
    const { organization_id } = project!;
    const row = await createErasure(tx, secrets, {
      organization_id,
      team_id,
      criteria: { kind: 'persons', distinct_ids, person_ids: [] },
      late_events: isRefused ? 'refuse' : 'anonymize',
      created_by: null,
    });
    // It gets the age of the first of them, so it comes before unfinished erasures: these would
    // wait for runs that nobody executes before its turn.
    await tx.run(sql`
      UPDATE erasures SET created_at = (SELECT min(created_at) FROM erasures
          WHERE id = ANY (${own_ids}::uuid[]) OR (team_id = ${team_id} AND finished_at IS NULL))
        - interval '1 microsecond' WHERE id = ${row.id}`);
    await appendActivity(tx, secrets, { organization_id }, server_actor, erasureEntry(row));
    return row.id;
  });
}

/** Works until the rows are deleted and no delivery contains them, or until it has to wait. */
async function removeRows(engine: Engine, ids: string[], signal: AbortSignal): Promise<void> {
  const areThere = async () =>
    (await engine.db.row(sql`SELECT 1 FROM erasures WHERE id = ANY (${ids}::uuid[])
      AND removed_at IS NULL`)) !== undefined;
  while (!signal.aborted && (await areThere()))
    if (!(await workOneStep(engine, signal, memory_seconds))) return;
}

function sentenceOf(
  { id, team_id, kind, is_finished }: LaterErasure,
  { again, is_closed }: { again: string | undefined; is_closed: boolean },
): string {
  const head = `Erasure ${id} of project ${team_id}`;
  if (is_closed)
    return (
      `${head} was requested after the backup, under a secret key that the backup does not ` +
      'have: request it again.'
    );
  if (!is_finished) return `${head} was requested after the backup, and the server continues it.`;
  if (kind === 'events')
    return (
      `${head} removed events by a filter after the backup. The filter is no longer known: ` +
      'request it again.'
    );
  return again === undefined
    ? `${head} was finished after the backup, which has no rows of these persons.`
    : `${head} was done after the backup: the server repeats it, as erasure ${again}.`;
}
