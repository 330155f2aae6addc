import { setTimeout as pause } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import type { DestinationDeps } from '../../../model/destination/destination.ts';
import { KnownError, RetryableError } from '../../../model/destination/errors.ts';
import { throwIfStopped, stopError } from '../../../model/destination/stop.ts';
import type { TableState } from '../../lake/table_metadata.ts';
import { lastDeliveryKey } from './catalog.ts';
import type { Commit, FileCommit, TableCatalog } from './catalog.ts';
import { currentSnapshot, foundIn, snapshotIdOf, snapshotsOf } from './found_in.ts';
import type { Loaded, Peer, Sent } from './peer.ts';
import { requireSameTable } from './same_table.ts';

const tries_max = 12;
const pause_ms_first = 50;
const pause_ms_max = 5_000;

/**
 * Opens a table of another vendor's catalog. Guarantee: a delivery is applied at most once,
 * whatever answers are lost. After a lost answer, the table is read first. A delivery that is there
 * is done. While `main` has not moved, the same request is sent again. Once it has moved without
 * us, the lost request can no longer apply, and the commit is prepared again.
 */
export function openForeignCatalog(
  peer: Peer,
  deps: DestinationDeps,
  opened?: Loaded,
): TableCatalog {
  const seen = remembering(peer, opened);
  const look: TableCatalog['look'] = async (delivery) => {
    const table = await seen.load();
    return table === undefined ? 'absent' : foundIn(table.metadata, delivery);
  };
  const stateBy = async (load: () => Promise<Loaded | undefined>) => {
    const table = await load();
    return table && stateOf(table);
  };
  return {
    load: () => stateBy(seen.load),
    loadRecent: () => stateBy(seen.loadRecent),
    create: async (table) => stateOf(await seen.create(table)),
    change: (commit) => change(seen, commit),
    look,
    whileHeld: async (delivery, work) => work(await look(delivery)),
    snapshotId: async (delivery) => {
      const table = await seen.loadRecent();
      const earlier = table === undefined ? 0 : snapshotsOf(table.metadata, delivery).length;
      return snapshotIdOf(delivery.delivery_id, earlier);
    },
    commit: (commit) => showFiles(seen, deps, commit),
  };
}

type SeenPeer = Peer & { loadRecent: Peer['load'] };

/**
 * Returns the table with a cache of its latest read, until a request is sent that may change it.
 */
function remembering(peer: Peer, opened: Loaded | undefined): SeenPeer {
  let latest = opened;
  const load = async () => (latest = await peer.load());
  return {
    ...peer,
    load,
    loadRecent: async () => latest ?? load(),
    create: async (table) => (latest = await peer.create(table)),
    send: (commit, from, key) => {
      latest = undefined;
      return peer.send(commit, from, key);
    },
  };
}

/** A sent commit whose result is unknown. */
type Doubt = { parent: string; sent: { commit: Commit; key: string }; error: KnownError };

async function showFiles(peer: SeenPeer, deps: DestinationDeps, asked: FileCommit): Promise<void> {
  const { delivery } = asked;
  let doubt: Doubt | undefined;
  let is_doubtful = false;
  for (let tries = 1; ; tries += 1)
    try {
      throwIfStopped(deps.signal);
      // A commit on an older state is refused, and the next try reads the table.
      const table = await (tries === 1 ? peer.loadRecent() : peer.load());
      requireSameTable(table && stateOf(table), asked.table_uuid);
      const found = foundIn(table!.metadata, delivery);
      if (found === 'shown') return;
      if (tries === 1) warnOfRollback(table!, delivery, deps);
      const sent = await next(table!, asked, doubt, tries);
      if (sent === undefined) return;
      const answer = await peer.send(sent.commit, table!, sent.key);
      if (answer === 'applied') return;
      if (answer !== 'conflict') {
        is_doubtful = true;
        doubt = { parent: parentOf(table!), sent, error: answer.doubt };
      }
      if (tries === tries_max) throw exhausted(answer);
      await rest(tries, deps.signal);
    } catch (error) {
      // A refusal says nothing about an earlier request without an answer.
      if (is_doubtful && error instanceof KnownError && (await isShownAfter(peer, asked))) return;
      if (error instanceof KnownError) error.is_certain = !is_doubtful;
      throw error;
    }
}

/**
 * Returns the request to send: the uncertain one while it may still apply, else one for this state.
 */
async function next(
  table: Loaded,
  { delivery, prepare }: FileCommit,
  doubt: Doubt | undefined,
  tries: number,
): Promise<Doubt['sent'] | undefined> {
  const parent = parentOf(table);
  if (doubt !== undefined && doubt.parent === parent) return doubt.sent;
  if (tries > 1 && foundIn(table.metadata, delivery) === 'rolled_back')
    throw new RetryableError(
      'conflict',
      'Another writer rolled the table back while Sluice published the delivery. Sluice ' +
        'retries the run.',
    );
  const updates = await prepare(stateOf(table));
  if (updates.length === 0) return undefined;
  const current = currentSnapshot(table.metadata);
  const requirements = [
    { type: 'assert-table-uuid', uuid: table.metadata['table-uuid'] },
    {
      type: 'assert-ref-snapshot-id',
      ref: 'main',
      'snapshot-id': current === undefined ? null : current['snapshot-id'],
    },
  ];
  return { commit: { requirements, updates }, key: uuidv7() };
}

/** Reads again after an error; if that fails, nothing is known. */
async function isShownAfter(peer: Peer, { delivery }: FileCommit): Promise<boolean> {
  const table = await peer.load().catch(() => undefined);
  return table !== undefined && foundIn(table.metadata, delivery) === 'shown';
}

function exhausted(answer: Exclude<Sent, 'applied'>): KnownError {
  if (answer !== 'conflict') return answer.doubt;
  return new RetryableError(
    'conflict',
    'Other writers changed the table at each attempt. Sluice retries the run.',
  );
}

/** Random, because writers that collided once would collide again. */
async function rest(tries: number, signal: AbortSignal): Promise<void> {
  const most = Math.min(pause_ms_max, pause_ms_first * 2 ** tries);
  await pause(Math.random() * most, undefined, { signal }).catch((error: unknown) => {
    throw signal.aborted ? stopError(signal) : error;
  });
}

function warnOfRollback(
  { metadata }: Loaded,
  { batch_export_id }: FileCommit['delivery'],
  deps: DestinationDeps,
): void {
  const delivery_id = metadata.properties?.[lastDeliveryKey(batch_export_id)];
  if (delivery_id !== undefined && foundIn(metadata, { delivery_id, batch_export_id }) !== 'shown')
    deps.warn?.(
      'Another writer rolled the table back: readers no longer see the last delivery of ' +
        'this export. Run `sluice verify` to see what is missing.',
    );
}

/** Changes the table without rows. An uncertain change is repeated: the table is read first. */
async function change(peer: SeenPeer, commit: Commit): Promise<void> {
  const table = await peer.loadRecent();
  const answer = table === undefined ? 'conflict' : await peer.send(commit, table, uuidv7());
  if (answer === 'applied') return;
  throw answer === 'conflict'
    ? new RetryableError('conflict', 'Another writer changed the table. Sluice retries the run.')
    : answer.doubt;
}

function stateOf({ metadata }: Loaded): TableState {
  return { metadata, parent: currentSnapshot(metadata) };
}

function parentOf({ metadata }: Loaded): string {
  return String(currentSnapshot(metadata)?.['snapshot-id'] ?? '');
}
