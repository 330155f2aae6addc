import { NativeSelect } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { BulkActionItem } from '../../../server/api/batch_exports/bulk_actions/schema.ts';
import { useRowsAround } from '../../page/around/printing.ts';
import { Refusal } from '../../page/shown.tsx';
import { counted } from '../../page/text/quantities.ts';
import { actionItems, items_at_once } from './bulk.ts';
import type { ActionIds } from './bulk.ts';

type Outcome = BulkActionItem['outcome'];
const words: Record<Outcome, string> = {
  refused: 'Refused',
  succeeded: 'Done',
  unchanged: 'Already so',
  pending: 'Pending',
  aborted: 'Not started',
};
const choices = [
  { value: '', label: 'All' },
  ...Object.entries(words).map(([value, label]) => ({ value, label })),
];

/**
 * The list of results: refused ones first if there are any. Only visible ones have elements and are
 * read.
 */
export function Results({
  action,
  refused,
  renderName,
}: {
  action: ActionIds;
  /** Number of refused items. */
  refused: number;
  /** Renders the name of an item. */
  renderName: (item: BulkActionItem) => ReactNode;
}) {
  const [chosen, choose] = useState<Outcome | ''>();
  const outcome = chosen ?? (refused > 0 ? 'refused' : '');
  const { data, error } = useQuery(actionItems(action, outcome === '' ? undefined : outcome, 0));
  if (error !== null) return <Refusal problem={error} />;
  if (data === undefined) return undefined;
  return (
    <details className="seldom" open={refused > 0}>
      <summary>Result of each</summary>
      <div className="toolbar">
        <NativeSelect
          size="xs"
          aria-label="Which results"
          data={choices}
          value={outcome}
          onChange={({ currentTarget }) => choose(currentTarget.value as Outcome | '')}
        />
        <span role="status" className="muted">
          {counted(data.count, 'result')}
        </span>
      </div>
      {data.count > 0 && (
        <Listed
          {...{ action, renderName }}
          outcome={outcome === '' ? undefined : outcome}
          key={outcome}
          count={data.count}
        />
      )}
    </details>
  );
}

function Listed({
  action,
  outcome,
  count,
  renderName,
}: {
  action: ActionIds;
  outcome: Outcome | undefined;
  count: number;
  renderName: (item: BulkActionItem) => ReactNode;
}) {
  const place = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- no result of it is memoized.
  const rows = useVirtualizer({
    count,
    getScrollElement: () => place.current,
    estimateSize: () => 28,
    overscan: useRowsAround(10),
  });
  const drawn = rows.getVirtualItems();
  const known = useKnown(action, outcome, drawn[0]?.index ?? 0, drawn.at(-1)?.index ?? 0);
  return (
    <div
      ref={place}
      className="all_results"
      tabIndex={0}
      role="region"
      aria-label="Results, one for each"
    >
      <ol style={{ height: rows.getTotalSize() }}>
        {drawn.map(({ key, index, start }) => {
          const item = known(index);
          return (
            <li
              key={key}
              className={item === undefined ? 'unread' : undefined}
              ref={rows.measureElement}
              data-index={index}
              aria-posinset={index + 1}
              aria-setsize={count}
              style={{ transform: `translateY(${start}px)` }}
            >
              {item === undefined ? (
                '…'
              ) : (
                <>
                  {renderName(item)}:{' '}
                  <span className={tones[item.outcome]}>{words[item.outcome]}</span>
                  {item.detail !== null && `, ${item.detail}`}
                </>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

const tones: Partial<Record<string, string>> = { refused: 'bad', succeeded: 'good' };

/** Returns the items of the pages of a range of rows, as far as they were read. */
function useKnown(action: ActionIds, outcome: Outcome | undefined, from: number, to: number) {
  const first = Math.floor(from / items_at_once);
  const pages = Array.from(
    { length: Math.floor(to / items_at_once) - first + 1 },
    (_, at) => first + at,
  );
  const read = useQueries({ queries: pages.map((page) => actionItems(action, outcome, page)) });
  return (index: number) =>
    read[Math.floor(index / items_at_once) - first]?.data?.results[index % items_at_once];
}
