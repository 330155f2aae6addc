import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import { destinationTypes } from '../../destinations/destinations.ts';
import { server_address } from '../../http/address.ts';
import { reading } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';
import { Command } from '../../page/command.tsx';
import { KeyNote } from '../../lake_tables/key_note.tsx';
import { counted } from '../../page/text/quantities.ts';
import { now } from '../../time/now.ts';
import { earlierDeliveries } from '../backfills/backfills.ts';
import { useExport } from '../export_context.ts';
import type { ExportIds } from '../export_context.ts';
import { useRunsFollowed } from '../following.ts';
import { receiptOf } from '../runs/runs.ts';
import { firstDelivery } from './first_delivery.ts';
import { placeOf, readCommand } from './read_command.ts';

const runs = '/api/projects/:project_id/batch_exports/:batch_export_id/runs/';
/** The browser's storage key for a message that a person has closed. */
const closed = (ids: ExportIds) => `sluice.first_rows_closed.${ids.id}`;

/** Says, after the first deliveries of an export, where its rows are and how to read them. */
export function FirstRows() {
  const { row, ids } = useExport();
  const [is_closed, setClosed] = useState(() => localStorage.getItem(closed(ids)) !== null);
  const { data, refetch } = useQuery({ ...completedRuns(ids), enabled: !is_closed });
  const earlier = useQuery({ ...earlierDeliveries(ids), enabled: !is_closed }).data?.ranges;
  useRunsFollowed(refetch);
  // The rows from before a restart may be gone with their table.
  if (data === undefined || is_closed || earlier?.length !== 0) return undefined;
  const first = firstDelivery(data.results, row.created_at, now());
  if (first === undefined) return undefined;
  const close = () => {
    localStorage.setItem(closed(ids), 'yes');
    setClosed(true);
  };
  return <Place run={first} close={close} />;
}

function completedRuns(ids: ExportIds) {
  const query = { ordering: '-created_at' as const, limit: 50, status: ['Completed' as const] };
  return reading(pathTo(runs, ids, query));
}

function Place({ run, close }: { run: BatchExportRun; close: () => void }) {
  const { row, ids } = useExport();
  const types = useQuery(destinationTypes).data?.results;
  const slices = useQuery(receiptOf(ids, run.id)).data?.slices ?? [];
  const name = slices[0]?.name;
  if (types === undefined || name === undefined) return undefined;
  const { type } = row.destination;
  const config = (row.destination.config ?? {}) as Record<string, unknown>;
  const folder = types.find((one) => one.type === type)?.folder;
  const catalog = { uri: `${server_address}/iceberg`, project_id: String(row.team_id) };
  const delivered = { type, config, name, folder, catalog };
  const command = readCommand(delivered);
  // All slices of a table have its name; a file has the rows of its own slice.
  const rows = slices
    .filter((slice) => slice.name === name)
    .reduce((sum, { records }) => sum + records, 0);
  return (
    <section className="panel first_rows" aria-label="First rows">
      <div className="part_head">
        <h2>Your first rows arrived</h2>
        <Button size="compact-sm" onClick={close}>
          Close
        </Button>
      </div>
      <p>
        The latest delivery wrote {counted(rows, 'row')} to <code>{placeOf(delivered)}</code>.
        {command !== undefined && (type === 'Iceberg' ? ' Read them in DuckDB. ' : ' Read them:')}
        {command !== undefined && type === 'Iceberg' && <KeyNote />}
      </p>
      {command !== undefined && <Command text={command} what="Read the first rows" />}
    </section>
  );
}
