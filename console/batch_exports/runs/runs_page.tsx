import { NativeSelect, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useContext } from 'react';
import { useExport } from '../export_context.ts';
import { useRunsFollowed } from '../following.ts';
import { Refusal, Waiting } from '../../page/shown.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { instantOf, wallClock } from '../../time/zone.ts';
import { ManyRuns } from './many_runs.tsx';
import { instantOfAddress, statusChoice, status_choices } from './run_filters.ts';
import type { RunSearch } from './run_filters.ts';
import { RunList } from './run_list.tsx';
import { listedRuns } from './runs.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/runs');

/** The runs of an export, those of the latest data first, narrowed as the address says. */
export function RunsPage() {
  const { path } = useExport();
  const search = route.useSearch();
  const query = useInfiniteQuery(listedRuns(path, search));
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  useRunsFollowed(refetch);
  return (
    <>
      <Filters search={search} />
      <ManyRuns search={search} />
      {error !== null && <Refusal problem={error} />}
      {data === undefined ? (
        error === null && <Waiting />
      ) : (
        <>
          <p className="muted small">{data.pages[0]!.detail}</p>
          <RunList
            runs={data.pages.flatMap(({ results }) => results)}
            has_more={hasNextPage}
            is_waiting={isFetchingNextPage}
            more={() => void fetchNextPage()}
          />
        </>
      )}
    </>
  );
}

function Filters({ search }: { search: RunSearch }) {
  const zone = useContext(ZoneContext);
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
      <Moment label="Data from" at={after} zone={zone} set={(at) => change({ after: at })} />
      <Moment label="Data before" at={before} zone={zone} set={(at) => change({ before: at })} />
    </div>
  );
}

/** An instant, as the clocks of the project's zone show it. */
function Moment({
  label,
  at,
  zone,
  set,
}: {
  label: string;
  at: string | undefined;
  zone: string;
  set: (at: string) => void;
}) {
  const instant = instantOfAddress(at);
  const shown =
    instant === undefined
      ? ''
      : new Date(wallClock(Date.parse(instant), zone)).toISOString().slice(0, 16);
  return (
    <TextInput
      key={shown}
      size="xs"
      type="datetime-local"
      label={`${label} (${zone})`}
      defaultValue={shown}
      onBlur={({ target: { value } }) => {
        if (value === shown) return;
        const wall = Date.parse(`${value}Z`);
        set(Number.isNaN(wall) ? '' : new Date(instantOf(wall, zone)).toISOString());
      }}
    />
  );
}
