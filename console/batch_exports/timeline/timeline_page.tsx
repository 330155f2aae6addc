import { NativeSelect } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useContext } from 'react';
import type { TimelineEntry } from '../../../server/api/batch_exports/timeline/schema.ts';
import { destinationTypes } from '../../destinations/destinations.ts';
import { useExport } from '../export_context.ts';
import { useRunsFollowed } from '../following.ts';
import { BusyButton } from '../../page/busy_button.tsx';
import { Empty } from '../../page/empty.tsx';
import { Seldom } from '../../page/section.tsx';
import { MayBeOld, Refusal, Waiting } from '../../page/shown.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { Mark } from '../state_mark.tsx';
import { changesInWords } from './change_words.ts';
import { entryInWords } from './entry_in_words.ts';
import { entryKind, entry_kinds, timelineOf } from './timeline.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/timeline');

/** Runs, pauses, changes, backfills and notices of an export in one timeline, newest first. */
export function TimelinePage() {
  const { ids } = useExport();
  const { type } = route.useSearch();
  const navigate = route.useNavigate();
  const kind = entryKind(type);
  const query = useInfiniteQuery(timelineOf(ids, kind));
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  useRunsFollowed(refetch);
  const entries = data?.pages.flatMap(({ results }) => results);
  return (
    <>
      <div className="filters">
        <NativeSelect
          size="xs"
          label="Show"
          value={kind ?? ''}
          onChange={({ target }) =>
            void navigate({ search: { type: target.value }, replace: true, resetScroll: false })
          }
          data={[
            { value: '', label: 'Everything' },
            ...Object.entries(entry_kinds).map(([value, label]) => ({ value, label })),
          ]}
        />
      </div>
      {entries === undefined ? (
        error === null ? (
          <Waiting />
        ) : (
          <Refusal problem={error} />
        )
      ) : (
        <>
          <MayBeOld problem={error} />
          {entries.length === 0 ? (
            <NoEntries />
          ) : (
            <ol className="sheet stream">
              {entries.map((entry) => (
                <li key={`${entry.id} ${entry.at} ${entry.type}`}>
                  <Entry entry={entry} />
                </li>
              ))}
            </ol>
          )}
          {hasNextPage && (
            <BusyButton
              size="compact-sm"
              is_busy={isFetchingNextPage}
              press={() => void fetchNextPage()}
            >
              Show older
            </BusyButton>
          )}
        </>
      )}
    </>
  );
}

function NoEntries() {
  return (
    <Empty title="Nothing of this kind yet">
      The timeline has runs, changes, backfills and notices of this export. Choose
      &quot;Everything&quot; to see all of them.
    </Empty>
  );
}

function Entry({ entry }: { entry: TimelineEntry }) {
  const zone = useContext(ZoneContext);
  const { title, tone, detail } = entryInWords(entry, zone);
  return (
    <>
      <span className="muted">
        <Instant at={entry.at} is_exact />
      </span>
      <span>
        <Mark tone={tone} />
      </span>
      <div>
        <p>
          <strong className={tone === 'muted' ? '' : tone}>{title}</strong>{' '}
          <span className="muted">
            <Sentence text={detail} />
          </span>
        </p>
        {entry.runs !== null && <RunLinks runs={entry.runs} />}
        {entry.backfill !== null && <BackfillRange backfill={entry.backfill} />}
        {entry.change !== null && <Changes changes={entry.change.changes} />}
      </div>
    </>
  );
}

function RunLinks({ runs }: { runs: NonNullable<TimelineEntry['runs']> }) {
  const { row } = useExport();
  const params = { project_id: String(row.team_id), export_id: row.id };
  const { data_interval_start: after, data_interval_end: before } = runs;
  return (
    <p className="links small">
      <span className="muted">
        data of <Instant at={after} is_exact /> to <Instant at={before} is_exact />
      </span>
      <Link
        to="/projects/$project_id/exports/$export_id/runs"
        params={params}
        search={{ after, before }}
      >
        Runs
      </Link>
      <Link
        to="/projects/$project_id/exports/$export_id"
        params={params}
        search={{ selected_from: after, selected_to: before }}
      >
        On the map
      </Link>
    </p>
  );
}

function BackfillRange({ backfill }: { backfill: NonNullable<TimelineEntry['backfill']> }) {
  const { row } = useExport();
  return (
    <p className="links small">
      <span className="muted">
        of <Instant at={backfill.start_at} is_exact /> to <Instant at={backfill.end_at} is_exact />
      </span>
      <Link
        to="/projects/$project_id/exports/$export_id"
        params={{ project_id: String(row.team_id), export_id: row.id }}
        search={{
          selected_from: backfill.start_at,
          selected_to: backfill.end_at,
          backfill: backfill.id,
        }}
      >
        Its progress
      </Link>
    </p>
  );
}

/** Fields that are shown at once; more are in a summary. */
const changes_max = 5;

/** Shows a change, field by field, with the form's labels. */
function Changes({ changes }: { changes: NonNullable<TimelineEntry['change']>['changes'] }) {
  const { row } = useExport();
  const types = useQuery(destinationTypes).data?.results;
  const type = types?.find((one) => one.type === row.destination.type);
  const told = changesInWords(changes, type);
  if (told.length === 0) return undefined;
  const list = (
    <ul className="changes small">
      {told.map(({ field, label, before, after }) => (
        <li key={field}>
          {label}
          {after !== '' && ': '}
          {before !== '' && <del>{before}</del>} <ins>{after}</ins>
        </li>
      ))}
    </ul>
  );
  return told.length <= changes_max ? (
    list
  ) : (
    <Seldom summary={`${told.length} fields`}>{list}</Seldom>
  );
}
