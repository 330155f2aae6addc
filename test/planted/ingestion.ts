import type { Fault } from './fault.ts';

/** Faults of ingestion, and of identities. */
export const ingestion_faults: Fault[] = [
  {
    name: 'rows count as final while a batch below them may still be stored',
    path: 'server/engine/ingest/lock.ts',
    was: 'THEN excluded.settled_until ELSE s.last_inserted_at END)',
    is: 'THEN excluded.settled_until ELSE s.settled_until END)',
    killed_by: 'server/engine/ingest/lock.test.ts',
  },
  {
    name: 'a batch is written below an instant that was promised to be final',
    path: 'server/engine/ingest/lock.ts',
    was:
      '\n          AND (s.settled_until IS NULL OR s.settled_until <= ' +
      'excluded.last_inserted_at)',
    is: '',
    killed_by: 'server/engine/ingest/lock.test.ts',
  },
  {
    name: 'a writer notes its batch at a primary that does not know its lock',
    path: 'server/engine/ingest/lock.ts',
    was: 'FROM project WHERE control_epoch() = ${note.epoch}',
    is: 'FROM project',
    killed_by: 'server/engine/ingest/batcher_order.test.ts',
  },
  {
    name: 'an event that is sent twice in a batch is stored twice',
    path: 'server/engine/ingest/flush.ts',
    was: '    known.add(event.uuid);\n',
    is: '',
    killed_by: 'server/engine/ingest/batcher.test.ts',
  },
  {
    name: 'an event counts as stored because another project has its uuid',
    path: 'server/engine/ingest/known_uuids.ts',
    was: 'WHERE team_id = {team_id:Int64} AND toUInt128(uuid)',
    is: 'WHERE toUInt128(uuid)',
    killed_by: 'server/engine/ingest/batcher.test.ts',
  },
  {
    name: 'a batch has the insertion time of the batch before',
    path: 'server/engine/ingest/flush.ts',
    was: '    last + 1,\n',
    is: '    last,\n',
    killed_by: 'server/engine/ingest/batcher_order.test.ts',
  },
  {
    name: 'persons of a batch whose events are stored are taken back',
    path: 'server/engine/ingest/settle_batch.ts',
    was: 'if (Number(counts?.events) === 0 && Number(counts?.persons) > 0)',
    is: 'if (Number(counts?.persons) > 0)',
    killed_by: 'server/engine/ingest/merges.test.ts',
  },
  {
    name: 'a merge that was not forced moves an identified person',
    path: 'server/engine/ingest/identities/judge_merge.ts',
    was: 'if (identities.isIdentified(from) && !is_forced)',
    is: 'if (identities.isIdentified(into) && !is_forced)',
    killed_by: 'server/engine/ingest/identities/identities.test.ts',
  },
  {
    name: 'everybody who sends "guest" becomes one person',
    path: 'server/engine/ingest/identities/judge_merge.ts',
    was: 'if (isIllegalId(distinct_id) || isIllegalId(other))',
    is: 'if (isIllegalId(distinct_id))',
    killed_by: 'server/engine/ingest/identities/identities.test.ts',
  },
  {
    name: 'a merge leaves the other distinct ids of a person behind',
    path: 'server/engine/ingest/persons/person_batch.ts',
    was: 'const moved = [from, ...left];',
    is: 'const moved = [from];',
    killed_by: 'server/engine/ingest/merges.test.ts',
  },
  {
    name: 'a distinct id that moved keeps its version, so that a join sees the old person',
    path: 'server/engine/ingest/persons/person_batch.ts',
    was: 'version === undefined ? 1 : version + Number(draft.is_moved)',
    is: 'version ?? 1',
    killed_by: 'server/engine/ingest/merges.test.ts',
  },
  {
    name: 'a merged person is as young as the younger of both',
    path: 'server/engine/ingest/persons/person_batch.ts',
    was: "source.created_at < (target.created_at ?? '~')",
    is: "source.created_at > (target.created_at ?? '')",
    killed_by: 'server/engine/ingest/persons/person_batch.test.ts',
  },
];
