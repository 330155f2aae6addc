import type { Fields } from '../../../platform/fields.ts';
import { keyOf } from './draft.ts';
import type { Draft } from './draft.ts';
import { isSame, listOf, longAt, longOf, objectOf, textOf } from './fields.ts';
import type { Long } from './fields.ts';
import type { SnapshotRef } from './metadata.ts';
import { badRequest, commitFailed } from './refusal.ts';
import type { Apply } from './schema_updates.ts';

const main = 'main';
const limits = ['max-ref-age-ms', 'max-snapshot-age-ms', 'min-snapshots-to-keep'];

/** The updates of snapshots, their refs and their statistics, by action. */
export const snapshot_updates: Record<string, Apply> = {
  'add-snapshot': addSnapshot,
  'remove-snapshots': removeSnapshots,
  'set-snapshot-ref': setRef,
  'remove-snapshot-ref': ({ table }, update) => {
    const name = textOf(update, 'ref-name');
    delete table.refs[name];
    if (name === main) delete table['current-snapshot-id'];
  },
  'set-statistics': statistics('statistics', 'statistics'),
  'remove-statistics': withoutStatistics('statistics'),
  'set-partition-statistics': statistics('partition-statistics', 'partition-statistics'),
  'remove-partition-statistics': withoutStatistics('partition-statistics'),
};

function addSnapshot({ table, known, added }: Draft, update: Fields): void {
  const snapshot = objectOf(update, 'snapshot');
  const id = longOf(snapshot, 'snapshot-id');
  const key = keyOf(id);
  if (known.has(key) || added.has(key))
    throw badRequest(`The table has the snapshot ${key} already.`);
  const timestamp_ms = Number(longOf(snapshot, 'timestamp-ms'));
  if (table['format-version'] > 1) {
    textOf(snapshot, 'manifest-list');
    const sequence = longOf(snapshot, 'sequence-number');
    const isLater = BigInt(sequence) > BigInt(table['last-sequence-number']);
    // The writer started from a state that another commit has replaced: it has to rebase.
    if (!isLater && (snapshot['parent-snapshot-id'] ?? null) !== null)
      throw commitFailed(
        `The sequence number ${sequence} does not follow ${table['last-sequence-number']}: ` +
          'another commit came first.',
      );
    if (isLater) table['last-sequence-number'] = sequence;
  }
  if (table['format-version'] === 3) countRows(table, snapshot);
  added.set(key, { snapshot, timestamp_ms });
}

/**
 * Assigns row ids to a snapshot, as format version 3 requires: from the table's next one on. A
 * writer that counted from an older state has to rebase; ids ahead of the counter are unassigned.
 */
function countRows(table: Draft['table'], snapshot: Fields): void {
  const [first, rows] = [longOf(snapshot, 'first-row-id'), longOf(snapshot, 'added-rows')];
  const next = BigInt(table['next-row-id'] ?? 0);
  const said = `first-row-id is ${first}, and the next row of the table is ${next}.`;
  if (BigInt(first) < next) throw commitFailed(`${said} Another commit came first.`);
  if (BigInt(first) > next || BigInt(rows) < 0n)
    throw badRequest(BigInt(rows) < 0n ? 'added-rows is less than 0.' : said);
  const after = next + BigInt(rows);
  table['next-row-id'] = after <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(after) : after;
}

function removeSnapshots({ table, known, added, removed }: Draft, update: Fields): void {
  for (const one of listOf(update, 'snapshot-ids')) {
    const id = longAt(one, 'snapshot-ids');
    const key = keyOf(id);
    if (!added.delete(key) && known.delete(key)) removed.add(key);
    for (const [name, ref] of Object.entries(table.refs))
      if (isSame(ref['snapshot-id'], id)) {
        delete table.refs[name];
        if (name === main) delete table['current-snapshot-id'];
      }
    for (const list of ['statistics', 'partition-statistics'] as const)
      dropStatistics(table, list, id);
  }
}

function setRef({ table, known, added, logged, now_ms }: Draft, update: Fields): void {
  const name = textOf(update, 'ref-name');
  const id = longOf(update, 'snapshot-id');
  const type = textOf(update, 'type');
  if (type !== 'branch' && type !== 'tag') throw badRequest('A ref is a branch or a tag.');
  if (name === main && type === 'tag') throw badRequest('main is a branch.');
  const key = keyOf(id);
  if (!known.has(key) && !added.has(key)) throw badRequest(`The table has no snapshot ${key}.`);
  const kept = limits.filter((limit) => (update[limit] ?? null) !== null);
  const ref: SnapshotRef = {
    'snapshot-id': id,
    type,
    ...Object.fromEntries(kept.map((limit) => [limit, longOf(update, limit)])),
  };
  const before = Object.hasOwn(table.refs, name) ? table.refs[name] : undefined;
  table.refs = { ...table.refs, [name]: ref };
  if (name !== main || isSame(before?.['snapshot-id'], id)) return;
  table['current-snapshot-id'] = id;
  logged.push({ id: key, timestamp_ms: added.get(key)?.timestamp_ms ?? now_ms });
}

type Statistics = 'statistics' | 'partition-statistics';

function statistics(field: string, list: Statistics): Apply {
  return ({ table }, update) => {
    const given = objectOf(update, field);
    const id = longOf(given, 'snapshot-id');
    textOf(given, 'statistics-path');
    dropStatistics(table, list, id);
    table[list] = [...(table[list] ?? []), given];
  };
}

function withoutStatistics(list: Statistics): Apply {
  return ({ table }, update) => dropStatistics(table, list, longOf(update, 'snapshot-id'));
}

function dropStatistics(table: Draft['table'], list: Statistics, id: Long): void {
  const left = table[list]?.filter((one) => !isSame(one['snapshot-id'] as Long, id));
  if (left === undefined) return;
  if (left.length === 0) delete table[list];
  else table[list] = left;
}
