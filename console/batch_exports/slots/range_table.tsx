import { Button, NativeSelect, Pagination, Table } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { memo, useState } from 'react';
import type { SlotRange } from '../../../server/api/batch_exports/slots/schema.ts';
import { Instant } from '../../time/instant.tsx';
import type { Span } from './boundaries.ts';
import { firstEndingAfter } from './drawn.ts';
import type { Drawn } from './drawn.ts';
import { inWords, kindOf, kinds } from './kinds.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/');
const rows_max = 25;

/**
 * The ranges of the view as a table: the same as the map, for whoever reads rather than looks. Kept
 * while only the cursor moves.
 */
export const RangeTable = memo(function RangeTable({
  drawn,
  view,
  setSelection,
}: {
  drawn: Drawn;
  view: Span;
  setSelection: (selection: Span) => void;
}) {
  const { show } = route.useSearch();
  const navigate = route.useNavigate();
  const [wanted, setPage] = useState(1);
  const ranges = rangesIn(drawn, view, show === 'all');
  const pages = Math.ceil(ranges.length / rows_max);
  const page = Math.min(wanted, Math.max(pages, 1));
  const shown = ranges.slice((page - 1) * rows_max, page * rows_max);
  const choose = (value: string) =>
    void navigate({
      search: ({ show: _show, ...rest }) => (value === 'all' ? { ...rest, show: value } : rest),
      replace: true,
      resetScroll: false,
    });
  return (
    <section className="part">
      <div className="part_head">
        <h2>Slots in view as a table</h2>
        <NativeSelect
          size="xs"
          aria-label="Which slots"
          value={show === 'all' ? 'all' : 'trouble'}
          onChange={({ target }) => choose(target.value)}
          data={[
            { value: 'trouble', label: 'What is failed, in doubt or missing' },
            { value: 'all', label: 'All' },
          ]}
        />
      </div>
      {shown.length === 0 ? (
        <p className="muted">Nothing is failed, in doubt or missing in this view.</p>
      ) : (
        <Ranges ranges={shown} setSelection={setSelection} />
      )}
      {pages > 1 && (
        <Pagination
          mt="sm"
          size="sm"
          total={pages}
          value={page}
          onChange={setPage}
          getControlProps={(control) => ({ 'aria-label': `${control} page` })}
        />
      )}
    </section>
  );
});

function rangesIn(drawn: Drawn, view: Span, has_all: boolean): SlotRange[] {
  const inside: SlotRange[] = [];
  for (let index = firstEndingAfter(drawn, view.from); index < drawn.ranges.length; index += 1) {
    const range = drawn.ranges[index]!;
    if (drawn.from[index]! >= view.to) break;
    const { is_trouble } = kinds[kindOf(range)];
    if (has_all || is_trouble || range.state === 'missing') inside.push(range);
  }
  return inside.toReversed();
}

function Ranges({
  ranges,
  setSelection,
}: {
  ranges: SlotRange[];
  setSelection: (selection: Span) => void;
}) {
  return (
    <Table className="cards">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>From</Table.Th>
          <Table.Th>To</Table.Th>
          <Table.Th className="number">Slots</Table.Th>
          <Table.Th>State</Table.Th>
          <Table.Th className="number">Rows</Table.Th>
          <Table.Th>
            <span className="unseen">Actions</span>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {ranges.map((range) => (
          <RangeRow key={range.start_at} range={range} setSelection={setSelection} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function RangeRow({
  range,
  setSelection,
}: {
  range: SlotRange;
  setSelection: (selection: Span) => void;
}) {
  return (
    <Table.Tr>
      <Table.Td data-label="From">
        <Instant at={range.start_at} is_exact />
      </Table.Td>
      <Table.Td data-label="To">
        <Instant at={range.end_at} is_exact />
      </Table.Td>
      <Table.Td data-label="Slots" className="number">
        {range.slots.toLocaleString('en')}
      </Table.Td>
      <Table.Td data-label="State">
        <span>
          <span className={`sign ${kinds[kindOf(range)].sign}`} aria-hidden /> {inWords(range)}
        </span>
      </Table.Td>
      <Table.Td data-label="Rows" className="number">
        {range.records_completed.toLocaleString('en')}
      </Table.Td>
      <Table.Td data-label="">
        {range.state !== 'outside' && range.state !== 'waiting' && (
          <Button
            size="compact-xs"
            variant="default"
            onClick={() =>
              setSelection({
                from: Date.parse(range.start_at),
                to: Date.parse(range.end_at),
              })
            }
          >
            Select<span className="unseen"> the slots from {range.start_at}</span>
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
