import { Progress } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useContext } from 'react';
import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { Verification } from '../../../server/api/batch_exports/verifications/schema.ts';
import { pathTo } from '../../http/path.ts';
import { Empty } from '../../page/empty.tsx';
import { counted } from '../../page/text/quantities.ts';
import { Seldom } from '../../page/section.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { dated, seconds } from '../../time/words.ts';
import { ActButton } from '../act_button.tsx';
import { useExport } from '../export_context.ts';
import { useWhenChanged } from '../following.ts';
import { overviewOf } from '../list/overview.ts';
import { Findings } from './findings.tsx';
import { latestDeviations, latestVerifications, verifications } from './proof.ts';
import { doneOf, stateOf } from './words.ts';

/**
 * The verifications of an export: the current one with its progress or findings, then earlier ones.
 */
export function Verifications() {
  const { row, ids } = useExport();
  const queries = useQueryClient();
  const query = useQuery(latestVerifications(ids));
  const latest = query.data?.results[0];
  const overview = overviewOf(String(row.team_id), row.id);
  const schedule = useQuery(overview).data?.results[0]?.verification;
  const is_verifiable = schedule !== undefined && schedule?.state !== 'not_verifiable';
  // The head of the export shows until when it is verified.
  useWhenChanged(latest?.last_updated_at, async () => {
    await queries.invalidateQueries({ queryKey: overview.queryKey });
    await queries.invalidateQueries({ queryKey: latestDeviations(ids).queryKey });
  });
  // The findings already show the reason.
  if (schedule?.state === 'not_verifiable' && latest === undefined) return undefined;
  return (
    <section className="part" aria-label="Verification">
      <div className="part_head">
        <h2>Verification</h2>
        <div className="row_actions">
          {latest !== undefined && is_verifiable && (
            <Verify is_busy={latest.finished_at === null} />
          )}
        </div>
      </div>
      <Shown query={query}>
        {({ results: [newest, ...earlier] }) =>
          newest === undefined ? (
            schedule !== undefined && <Never schedule={schedule} />
          ) : (
            <>
              <One verification={newest} state={schedule?.state} />
              {earlier.length > 0 && (
                <Seldom summary={counted(earlier.length, 'earlier verification')}>
                  <Earlier earlier={earlier} />
                </Seldom>
              )}
            </>
          )
        }
      </Shown>
    </section>
  );
}

function Verify({ is_busy = false }: { is_busy?: boolean }) {
  const { ids } = useExport();
  const queries = useQueryClient();
  if (is_busy) return undefined;
  return (
    <ActButton
      path={pathTo(verifications, ids)}
      label="Verify"
      about="all deliveries"
      size="compact-sm"
      is_primary
      done={async () => {
        await queries.invalidateQueries({ queryKey: latestVerifications(ids).queryKey });
        return '';
      }}
    />
  );
}

function Never({ schedule }: { schedule: BatchExport['verification'] }) {
  const has_looked = schedule !== null && schedule.verified_at !== null;
  return (
    <Empty
      title={has_looked ? 'You have not started a verification' : 'Nothing has been verified yet'}
      way={<Verify />}
    >
      {has_looked && 'The findings above come from scheduled verification. '}
      Sluice signs a receipt of each delivery. Verify reads the destination again and compares it
      with the receipts and with the stored rows, the newest delivery first. It finds rows that are
      missing, doubled, changed or foreign, and offers to repair them.
    </Empty>
  );
}

function One({
  verification,
  state,
}: {
  verification: Verification;
  /** The current state of the export, which may have changed since. */
  state: NonNullable<BatchExport['verification']>['state'] | undefined;
}) {
  const { finished_at, created_at, detail, differences, notes, progress } = verification;
  const zone = useContext(ZoneContext);
  const is_resolved = differences > 0 && state === 'verified';
  const { word, tone } = stateOf(verification, state === 'not_verifiable');
  return (
    <>
      <p className="outcome">
        <strong className={is_resolved ? '' : tone}>{word}</strong>{' '}
        <span className="muted small">
          <Instant at={finished_at ?? created_at} />
        </span>
      </p>
      {finished_at === null && (
        <Progress value={doneOf(verification)} aria-label="Progress of the verification" mb="xs" />
      )}
      <p role="status">
        <Sentence text={detail} />
        {is_resolved && ' No finding is open any more.'}
        {finished_at === null && progress.records !== null && (
          <>
            {' '}
            {progress.records_checked.toLocaleString('en')} of {counted(progress.records, 'row')}.
          </>
        )}
        {progress.estimated_end_at !== null && (
          <> Ends about {seconds(progress.estimated_end_at, zone).slice(11)}.</>
        )}
      </p>
      {notes.map((note) => (
        <p key={note} className="muted small">
          <Sentence text={note} />
        </p>
      ))}
      {finished_at === null && <Cancel id={verification.id} />}
      {differences > 0 && (
        <Seldom summary="Each difference">
          <Findings verification={verification} />
        </Seldom>
      )}
    </>
  );
}

function Cancel({ id }: { id: string }) {
  const { ids } = useExport();
  const queries = useQueryClient();
  return (
    <ActButton
      path={pathTo(`${verifications}:id/cancel/`, { ...ids, id })}
      label="Cancel"
      about="the verification"
      size="compact-sm"
      done={async () => {
        await queries.invalidateQueries({ queryKey: latestVerifications(ids).queryKey });
        return '';
      }}
    />
  );
}

function Earlier({ earlier }: { earlier: Verification[] }) {
  const zone = useContext(ZoneContext);
  return (
    <ul className="earlier">
      {earlier.map((one) => {
        const { word, tone } = stateOf(one);
        return (
          <li key={one.id}>
            {dated(one.created_at, zone)}: <span className={tone}>{word}</span>.{' '}
            <Sentence text={one.detail} />
          </li>
        );
      })}
    </ul>
  );
}
