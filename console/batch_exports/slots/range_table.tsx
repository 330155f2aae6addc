import { Button, NativeSelect, Pagination } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { memo, useContext, useState } from 'react';
import { Table } from '../../page/tables/table.tsx';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { exactly } from '../../time/words.ts';
import type { Part } from './drawn.ts';
import { inWords, isSelectable, kind_names, kinds } from './kinds.ts';
import { clock_names } from './clocks.ts';
import type { Picked } from './clocks.ts';
import { Sign } from './sign.tsx';
import { isoInstant } from './slots.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/');
const rows_max = 25;

/**
 * Shows the visible parts of ranges as a table: the map for screen readers. Selecting a row brings
 * it into view. Memoized, because the cursor moves often.
 */
export const RangeTable = memo(function RangeTable({
  parts,
  setSelection,
}: {
  parts: Part[];
  setSelection: (selection: Picked) => void;
}) {
  const { show } = route.useSearch();
  const navigate = route.useNavigate();
  const [wanted, setPage] = useState(1);
  const listed = listedOf(parts, show === 'all');
  const pages = Math.ceil(listed.length / rows_max);
  const page = Math.min(wanted, Math.max(pages, 1));
  const shown = listed.slice((page - 1) * rows_max, page * rows_max);
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
            { value: 'trouble', label: 'Failed, uncertain or missing' },
            { value: 'all', label: 'All' },
          ]}
        />
      </div>
      {shown.length === 0 ? (
        <p className="muted">Nothing is failed, uncertain or missing in this view.</p>
      ) : (
        <Parts parts={shown} setSelection={setSelection} />
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

function listedOf(parts: Part[], has_all: boolean): Part[] {
  const isListed = ({ kind }: Part) => {
    const { is_trouble, colour } = kinds[kind_names[kind]!];
    return is_trouble || (has_all && colour !== '');
  };
  return parts.filter(isListed).toSorted((one, other) => other.from - one.from);
}

function Parts({
  parts,
  setSelection,
}: {
  parts: Part[];
  setSelection: (selection: Picked) => void;
}) {
  // The server only counts the rows of a whole range.
  const is_more = parts.some(({ is_cut, range }) => is_cut && range.records_completed > 0);
  const has_clocks = parts.some(({ by }) => by !== parts[0]?.by);
  const rows_heading = is_more ? 'Rows, also of slots out of view' : 'Rows';
  return (
    <Table className="cards">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>From</Table.Th>
          <Table.Th>To</Table.Th>
          {has_clocks && <Table.Th>Clock</Table.Th>}
          <Table.Th className="number">Slots</Table.Th>
          <Table.Th>State</Table.Th>
          <Table.Th className="number">{rows_heading}</Table.Th>
          <Table.Th>
            <span className="unseen">Actions</span>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {parts.map((part) => (
          <PartRow
            key={`${part.by} ${part.range.start_at}`}
            {...{ part, has_clocks, rows_heading, setSelection }}
          />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function PartRow({
  part: { by, range, kind, from, to, slots },
  has_clocks,
  rows_heading,
  setSelection,
}: {
  part: Part;
  has_clocks: boolean;
  rows_heading: string;
  setSelection: (selection: Picked) => void;
}) {
  const zone = useContext(ZoneContext);
  const start_at = isoInstant(from);
  return (
    <Table.Tr>
      <Table.Td data-label="From">
        <Instant at={start_at} is_exact />
      </Table.Td>
      <Table.Td data-label="To">
        <Instant at={isoInstant(to)} is_exact />
      </Table.Td>
      {has_clocks && <Table.Td data-label="Clock">{clock_names[by]}</Table.Td>}
      <Table.Td data-label="Slots" className="number">
        {slots.toLocaleString('en')}
      </Table.Td>
      <Table.Td data-label="State">
        <span>
          <Sign kind={kind_names[kind]!} /> {inWords(range)}
        </span>
      </Table.Td>
      <Table.Td data-label={rows_heading} className="number">
        {range.records_completed.toLocaleString('en')}
      </Table.Td>
      <Table.Td data-label="">
        {isSelectable(range) && (
          <Button size="compact-xs" onClick={() => setSelection({ from, to, by })}>
            Select<span className="unseen"> the slots from {exactly(start_at, zone)}</span>
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
