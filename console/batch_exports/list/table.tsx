import { Checkbox } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { Fragment, useContext, useLayoutEffect, useRef, useState } from 'react';
import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import { ManagedMark } from '../../configuration/managed_mark.tsx';
import { useDestinationLabel, useInLabels } from '../../destinations/destinations.ts';
import { useRowsAround } from '../../page/around/printing.ts';
import { Sentence } from '../../page/text/sentence.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { Verified } from '../head/verified.tsx';
import { scheduleWords } from '../schedule_words.ts';
import { Health } from './health.tsx';
import { NextRun } from './next_run.tsx';
import { overviewPage, page_size } from './overview.ts';
import type { ListSearch } from './overview.ts';
import { Sparkline } from './sparkline.tsx';
import { troubleOf } from './standing.ts';

const row_height = 44;
const columns = ['Name', 'State', 'Rows in 24 h', 'Next run', 'Verified', 'Delivers', 'Schedule'];

type Given = {
  project_id: string;
  search: ListSearch;
  count: number;
  chosen: ReadonlySet<string>;
  choose: (id: string, is_chosen: boolean) => void;
};

/** The table of exports: only visible rows have elements, and only their pages are read. */
export function ExportTable({ project_id, search, count, chosen, choose }: Given) {
  const list = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    setTop((list.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
  }, []);
  // oxlint-disable-next-line react/incompatible-library -- renders share no state of it.
  const rows = useWindowVirtualizer({
    count,
    estimateSize: () => row_height,
    scrollMargin: top,
    overscan: useRowsAround(8),
  });
  const items = rows.getVirtualItems();
  const known = useKnownPages(project_id, search, items[0]?.index ?? 0, items.at(-1)?.index ?? 0);
  return (
    <div role="table" aria-label="Exports" aria-rowcount={count + 1} className="sheet export_list">
      <Head />
      <div
        ref={list}
        role="rowgroup"
        className="export_rows"
        style={{ height: rows.getTotalSize() }}
      >
        {items.map(({ key, index, start }) => {
          const row = known.get(Math.floor(index / page_size))?.[index % page_size];
          return (
            <div
              key={key}
              ref={rows.measureElement}
              data-index={index}
              role="row"
              aria-rowindex={index + 2}
              className={row === undefined ? 'export_row unread' : 'export_row'}
              style={{ transform: `translateY(${start - top}px)` }}
            >
              {row === undefined ? (
                <span role="cell">…</span>
              ) : (
                <Row row={row} is_chosen={chosen.has(row.id)} choose={choose} />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Returns the pages of a range of rows, as far as they were read. */
function useKnownPages(project_id: string, search: ListSearch, from: number, to: number) {
  const first = Math.floor(from / page_size);
  const last = Math.floor(to / page_size);
  const pages = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const read = useQueries({
    queries: pages.map((page) => overviewPage(project_id, search, page)),
  });
  return new Map(pages.map((page, at) => [page, read[at]?.data?.results] as const));
}

function Head() {
  return (
    <div role="rowgroup">
      <div role="row" aria-rowindex={1} className="export_row export_head">
        <span role="columnheader">
          <span className="unseen">Selected</span>
        </span>
        {columns.map((name) => (
          <span role="columnheader" key={name}>
            {name}
          </span>
        ))}
      </div>
    </div>
  );
}

function Row({
  row,
  is_chosen,
  choose,
}: {
  row: ExportOverview;
  is_chosen: boolean;
  choose: Given['choose'];
}) {
  const zone = useContext(ZoneContext);
  const { id, team_id, name, model, destination_type, health, records, records_day } = row;
  const params = { project_id: String(team_id), export_id: id };
  const trouble = troubleOf(health);
  const labelOf = useDestinationLabel();
  const inLabels = useInLabels(destination_type);
  return (
    <>
      <span role="cell">
        <Checkbox
          size="xs"
          checked={is_chosen}
          aria-label={`Select ${name}`}
          onChange={({ currentTarget }) => choose(id, currentTarget.checked)}
        />
      </span>
      <span role="rowheader" aria-label={name} className="export_name" title={name}>
        <ManagedMark by={row.managed_by} />
        <Link to="/projects/$project_id/exports/$export_id" params={params}>
          <bdi>{name}</bdi>
        </Link>
        {row.tags.length > 0 && <span className="export_tags">{row.tags.join(', ')}</span>}
      </span>
      <span role="cell" className="export_health" title={health.detail}>
        <Health row={row} />
      </span>
      <span role="cell" className="export_wide export_records" data-label="Rows in 24 h">
        <span className="number">{(records_day ?? 0).toLocaleString('en')}</span>
        <Sparkline records={records} />
      </span>
      <span role="cell" data-label="Next run">
        <NextRun row={row} />
      </span>
      <span role="cell" className="export_verified" data-label="Verified">
        <Verified row={row} is_short />
      </span>
      <span role="cell">
        {model} to {labelOf(destination_type)}
      </span>
      <span role="cell">
        <Schedule words={scheduleWords(row, zone)} />
      </span>
      {trouble !== undefined && (
        <span role="cell" className="export_trouble">
          <Sentence text={inLabels(trouble)} is_short />
        </span>
      )}
    </>
  );
}

/** A line may end within the name of a zone, but not within a word of that name. */
function Schedule({ words }: { words: string }) {
  return words.split(/(?<=[/_])/).map((part) => (
    <Fragment key={part}>
      {part}
      <wbr />
    </Fragment>
  ));
}
