import { NativeSelect } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useExport } from '../export_context.ts';
import { useRunsFollowed } from '../following.ts';
import { Moment } from '../moment.tsx';
import { MayBeOld, Refusal, Waiting } from '../../page/shown.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { ManyRuns } from './many_runs.tsx';
import { statusChoice, status_choices } from './run_filters.ts';
import type { RunSearch } from './run_filters.ts';
import { RunList } from './run_list.tsx';
import { runsOf } from './listed_run.ts';
import { listedRuns } from './runs.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/runs');

/** The runs of an export, latest data first, filtered by the address. */
export function RunsPage() {
  const { ids } = useExport();
  const search = route.useSearch();
  const query = useInfiniteQuery(listedRuns(ids, search));
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  useRunsFollowed(refetch);
  return (
    <>
      <ManyRuns search={search}>
        <Filters search={search} />
      </ManyRuns>
      {data === undefined ? (
        error === null ? (
          <Waiting />
        ) : (
          <Refusal problem={error} />
        )
      ) : (
        <>
          <MayBeOld problem={error} />
          <p className="muted small">
            <Sentence text={data.pages[0]!.detail} />
          </p>
          <RunList
            runs={runsOf(data.pages)}
            has_more={hasNextPage}
            is_waiting={isFetchingNextPage}
            more={() => void fetchNextPage()}
            is_narrowed={Object.values(search).some((value) => value !== undefined)}
          />
        </>
      )}
    </>
  );
}

function Filters({ search }: { search: RunSearch }) {
  const navigate = route.useNavigate();
  const change = (changed: RunSearch) =>
    void navigate({ search: { ...search, ...changed }, replace: true, resetScroll: false });
  const { after, before, status } = search;
  return (
    <div className="filters" role="search" aria-label="Runs">
      <NativeSelect
        size="xs"
        label="Status"
        value={statusChoice(status) ?? ''}
        onChange={({ target }) => change({ status: target.value })}
        data={[
          { value: '', label: 'All' },
          ...Object.entries(status_choices).map(([value, { label }]) => ({ value, label })),
        ]}
      />
      <Moment
        label="Data from"
        at={Date.parse(after ?? '')}
        set={(at) => change({ after: textOf(at) })}
      />
      <Moment
        label="Data before"
        at={Date.parse(before ?? '')}
        set={(at) => change({ before: textOf(at) })}
      />
    </div>
  );
}

/** As in the address, where an empty text means none. */
const textOf = (at: number | undefined) => (at === undefined ? '' : new Date(at).toISOString());
