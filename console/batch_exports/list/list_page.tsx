import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { Problem } from '../../http/problem.ts';
import { pathOf } from '../../http/reading.ts';
import { Empty } from '../../page/empty.tsx';
import { Page } from '../../page/page.tsx';
import { attentionOf } from '../../shell/attention.ts';
import { Refusal, Shown } from '../../page/shown.tsx';
import { BulkBar, BulkProgress } from './bulk.tsx';
import { Chips } from './chips.tsx';
import { Filters } from './filters.tsx';
import { ids_max, matchingIds, overviewPage } from './overview.ts';
import type { ListSearch, OverviewPage } from './overview.ts';
import { ExportTable } from './table.tsx';
import { Views } from './views.tsx';
import { counted } from '../../page/text/quantities.ts';
import './list.css';

const route = getRouteApi('/signed_in/projects/$project_id/exports');

/** The batch exports of a project: their states, and bulk actions. */
export function ListPage() {
  const { project_id } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = overviewPage(project_id, search, 0);
  const query = useQuery({ ...list, placeholderData: (before) => before });
  const change = (changes: ListSearch) =>
    void navigate({ search: (before) => ({ ...before, ...changes }), replace: true });
  const create = (
    <Link to="/projects/$project_id/exports/new" params={{ project_id }} className="act">
      New export
    </Link>
  );
  return (
    <Page
      title="Exports"
      attention={query.data && attentionOf(query.data.counts)}
      request={pathOf(list)}
      actions={create}
    >
      <Shown query={query}>
        {(page) =>
          isEmpty(page) ? (
            <NoExports project_id={project_id} />
          ) : (
            <>
              <Chips
                chosen={search.health}
                counts={page.counts}
                choose={(health) => change({ health })}
              />
              <Filters search={search} tags={page.tags} change={change} />
              <Views
                project_id={project_id}
                search={search}
                show={(view) => void navigate({ search: view, replace: true })}
              />
              <Exports
                // A selection under other filters would be invisible.
                key={JSON.stringify({ ...search, action: '' })}
                project_id={project_id}
                search={search}
                page={page}
                change={change}
              />
            </>
          )
        }
      </Shown>
    </Page>
  );
}

function isEmpty({ counts }: OverviewPage): boolean {
  return Object.values(counts).every((count) => count === 0);
}

function NoExports({ project_id }: { project_id: string }) {
  const way = (
    <Link to="/projects/$project_id/exports/new" params={{ project_id }} className="act">
      Create the first export
    </Link>
  );
  return (
    <Empty title="No exports yet" way={way}>
      An export delivers the events or persons of this project to a destination, on a schedule.
    </Empty>
  );
}

function NoMatch({ showAll }: { showAll: () => void }) {
  const way = <Button onClick={showAll}>Show all exports</Button>;
  return (
    <Empty title="No exports match" way={way}>
      Other exports of this project are in other states, or have other names.
    </Empty>
  );
}

function Exports({
  project_id,
  search,
  page: { count },
  change,
}: {
  project_id: string;
  search: ListSearch;
  page: OverviewPage;
  change: (changes: ListSearch) => void;
}) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [refusal, setRefusal] = useState<Problem>();
  const chooseAll = async () => {
    const found = await matchingIds(project_id, search);
    setRefusal(found instanceof Problem ? found : undefined);
    if (!(found instanceof Problem)) setChosen(new Set(found));
  };
  return (
    <>
      {refusal !== undefined && <Refusal problem={refusal} />}
      <Choosing
        chosen={chosen.size}
        count={count}
        all={() => void chooseAll()}
        none={() => setChosen(new Set())}
      />
      {chosen.size > 0 && (
        <BulkBar
          project_id={project_id}
          ids={[...chosen]}
          begun={async (action) => {
            setChosen(new Set());
            change({ action });
          }}
        />
      )}
      {search.action !== undefined && (
        <BulkProgress
          project_id={project_id}
          id={search.action}
          close={() => change({ action: '' })}
        />
      )}
      {count === 0 ? (
        <NoMatch
          showAll={() => change(Object.fromEntries(Object.keys(search).map((name) => [name, ''])))}
        />
      ) : (
        <ExportTable
          project_id={project_id}
          search={search}
          count={count}
          chosen={chosen}
          choose={(id, is_chosen) => setChosen((before) => withChoice(before, id, is_chosen))}
        />
      )}
    </>
  );
}

function withChoice(chosen: ReadonlySet<string>, id: string, is_chosen: boolean): Set<string> {
  return is_chosen ? new Set([...chosen, id]) : new Set([...chosen].filter((one) => one !== id));
}

function Choosing({
  chosen,
  count,
  all,
  none,
}: {
  chosen: number;
  count: number;
  all: () => void;
  none: () => void;
}) {
  return (
    <div className="chosen">
      <span className="muted" role="status">
        {chosen === 0
          ? counted(count, 'export')
          : `${counted(chosen, 'export')} of ${count.toLocaleString('en')} selected`}
      </span>
      {count > 0 && chosen < Math.min(count, ids_max) && (
        <Button size="compact-sm" onClick={all}>
          Select {count > ids_max ? `the first ${ids_max.toLocaleString('en')}` : 'all'}
        </Button>
      )}
      {chosen > 0 && (
        <Button size="compact-sm" onClick={none}>
          Select none
        </Button>
      )}
    </div>
  );
}
