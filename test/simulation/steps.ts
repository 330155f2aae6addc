import assert from 'node:assert/strict';
import sql from 'sql-template-tag';
import { sweepHistory } from '../../server/engine/exports/runs/sweep_history.ts';
import { showLate } from './destination.ts';
import type { Act, Duty, Round } from './act.ts';
import { inTurns } from './in_turns.ts';
import { newActor } from './actor.ts';
import type { Actor } from './actor.ts';
import { first_monday, insert, openIngestion, processOf } from './world.ts';
import type { World } from './world.ts';

/** Runs a round until no awake actor has anything left to do. */
export async function playRound(world: World, round: Round): Promise<void> {
  const { pass, acts, fates, blow, looks_lost = 0 } = round;
  const { simulator, turns, destination, source } = world;
  await simulator.time.pass(Math.max(0, Math.round(lengthOf(world, pass))));
  world.in_transit();
  destination.fates.splice(0, Infinity, ...fates);
  source.lost.looks = looks_lost;
  if (blow !== undefined) strikableOf(world, blow.process).blow = { ...blow };
  await turns.play(world.begun, () => {
    for (const one of acts) begin(world, one);
  });
  simulator.person.blow = undefined;
  for (const { actor } of [world.ingestion, ...world.processes.values()]) {
    actor.blow = undefined;
    world.is_struck ||= actor.is_struck;
  }
  if (world.ingestion.actor.is_dead) world.ingestion = openIngestion(world);
}

function strikableOf(world: World, name: string): Actor {
  if (name === 'person') return world.simulator.person;
  return name === 'ingestion' ? world.ingestion.actor : processOf(world, name).actor;
}

const day_ms = 24 * 3_600_000;

function lengthOf({ simulator, length }: World, pass: Round['pass']): number {
  if ('seconds' in pass) return pass.seconds * 1000;
  if ('days' in pass) return length < day_ms ? 0 : pass.days * day_ms;
  if ('intervals' in pass) return pass.intervals * length;
  return length - ((simulator.time.now() - first_monday) % length) + pass.beyond * 1000;
}

/** Starts the work of an actor; busy or sleeping actors do nothing else. */
function begin(world: World, one: Act): void {
  world.turns.trace.push(JSON.stringify(one));
  if (one.do === 'show late') return showLate(world.destination);
  if (one.do === 'wake') return wake(world, one.process);
  const actor = actorOf(world, one);
  if (world.begun.has(actor) || actor.is_asleep) return;
  const doing = carryOut(world, one, actor);
  const ended = doing.finally(() => world.begun.delete(actor));
  ended.catch((error: unknown) => {
    if (error instanceof assert.AssertionError) world.faults.push(error);
  });
  world.begun.set(actor, ended);
}

function actorOf(world: World, one: Act): Actor {
  if (one.do === 'stop') return newActor(`${one.process} stops`);
  if (one.do === 'work' || one.do === 'restart') return processOf(world, one.process).actor;
  if (one.do === 'insert') return world.ingestion.actor;
  return world.simulator.person;
}

/** Wakes the sleeper; its leases may belong to others by now. */
export function wake(world: World, name: string): void {
  const known = world.processes.get(name);
  if (known !== undefined) known.actor.is_asleep = false;
}

async function carryOut(world: World, one: Act, actor: Actor): Promise<void> {
  if (one.do === 'work') return workOn(world, one.process, one.duties);
  if (one.do === 'restart') return restart(world, one.process);
  if (one.do === 'stop') return stopInTheMiddle(world, one.process, actor);
  if (one.do === 'insert')
    return insert(
      world,
      Array.from({ length: one.count }, () => one.age * world.length),
    );
  if (one.do === 'sweep') {
    world.is_swept = true;
    return sweepHistory({ db: world.simulator.db, clock: world.simulator.time.clock });
  }
  if (one.do === 'backfill') return backfill(world, one);
  if (one.do === 'cancel')
    return post(world, `runs/${await pickRun(world, ['Starting', 'Running'], one.pick)}/cancel/`);
  if (one.do === 'retry')
    return post(world, `runs/${await pickRun(world, ended_statuses, one.pick)}/retry/`);
  if (one.do === 'cancel backfill')
    return post(world, `backfills/${await pickBackfill(world, one.pick)}/cancel/`);
  if (one.do === 'pause') return post(world, 'pause/');
  if (one.do === 'unpause') {
    if (!one.backfill) world.has_gap = true;
    return post(world, 'unpause/', { backfill: one.backfill });
  }
  if (one.do === 'revise') return revise(world);
}

/** Statuses of a run that ended without a delivery. */
export const ended_statuses = ['Failed', 'FailedRetryable', 'Cancelled'];

/** Runs one turn of these duties of a process, concurrently, and of the runs that it claims. */
async function workOn(world: World, name: string, wanted: readonly Duty[]): Promise<void> {
  const { worker, engine, actor } = processOf(world, name);
  const turnOf = async (duty: Duty) => {
    try {
      await worker.duties[duty]();
    } catch (error) {
      // Like the loop of the duty, which runs again.
      if (error instanceof assert.AssertionError) throw error;
      engine.log.warn({ err: error }, `${duty} failed`);
    }
  };
  await Promise.all(wanted.map(turnOf));
  while (worker.active.size > 0)
    await Promise.all([...worker.active.values()].map(({ ended }) => ended));
  if (actor.is_struck) return;
  const kept = await world.simulator.db.rows(sql`
    SELECT id FROM batch_export_runs WHERE worker_id = ${worker.worker_id}
      AND status IN ('Starting', 'Running')`);
  if (kept.length > 0) world.faults.push(new Error('A worker keeps a run and does nothing.'));
}

/** Stops a process, and starts another one in its place. */
async function restart(world: World, name: string): Promise<void> {
  const process = processOf(world, name);
  await process.stop();
  world.processes.delete(name);
}

/** Tells a process to stop; it ends before its runs and duties do. */
async function stopInTheMiddle(world: World, name: string, actor: Actor): Promise<void> {
  const { simulator, turns, processes } = world;
  const process = processes.get(name);
  if (process === undefined || process.actor.is_dead) return;
  await process.stop(inTurns(simulator.sessionsOf(name), actor, turns));
  process.actor.is_dead = true;
  world.is_struck = true;
}

/** Requests a change of the export; a change refused with 409 is not made. */
export async function post(world: World, path: string, body: object = {}): Promise<void> {
  // Nothing to pick.
  if (path.includes('/undefined/')) return;
  const { status, text } = await world.home.ask('POST', `${world.path}${path}`, body);
  assert.ok(status === 200 || status === 409, `${path} answered ${status}: ${text}`);
}

async function backfill(
  world: World,
  { back, length, by, mode }: Extract<Act, { do: 'backfill' }>,
): Promise<void> {
  const end = Math.round(world.simulator.time.now() - back * world.length);
  await post(world, 'backfill/', {
    start_at: new Date(end - Math.round(length * world.length) - 1).toISOString(),
    end_at: new Date(end).toISOString(),
    by,
    mode,
  });
}

/** Another place; earlier deliveries do not count there. */
async function revise(world: World): Promise<void> {
  world.has_gap = true;
  const place = `place ${Number(world.place.split(' ')[1]) + 1}`;
  const destination = { type: world.destination_type, config: { place } };
  const { status, text } = await world.home.ask('PATCH', world.path, { destination });
  assert.equal(status, 200, text);
  world.place = place;
}

async function pickRun(
  world: World,
  statuses: string[],
  pick: number,
): Promise<string | undefined> {
  const runs = await world.simulator.db.rows<{ id: string }>(sql`
    SELECT id FROM batch_export_runs WHERE batch_export_id = ${world.export_id}
      AND status = ANY (${statuses}) ORDER BY created_at, id`);
  return runs[pick % Math.max(runs.length, 1)]?.id;
}

async function pickBackfill(world: World, pick: number): Promise<string | undefined> {
  const open = await world.simulator.db.rows<{ id: string }>(sql`
    SELECT id FROM batch_export_backfills WHERE batch_export_id = ${world.export_id}
      AND finished_at IS NULL ORDER BY created_at, id`);
  return open[pick % Math.max(open.length, 1)]?.id;
}
