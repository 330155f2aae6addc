import { Checkbox } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import { destinationTypes } from '../../destinations/destinations.ts';
import { AsYaml } from '../../configuration/as_yaml.tsx';
import { Form } from '../../form/form.tsx';
import { TypedForm } from '../../form/typed_form.tsx';
import { pathTo } from '../../http/path.ts';
import { etagOf, reading } from '../../http/reading.ts';
import { Section, useDone } from '../../page/section.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant } from '../../time/instant.tsx';
import { exportPath, useExport } from '../export_context.ts';
import type { ExportIds } from '../export_context.ts';
import { ExportForm } from '../form/export_form.tsx';
import { useTurn } from '../form/turn.ts';
import { useReadAnew } from '../read_anew.ts';
import { TableMaintenance } from './table_maintenance.tsx';

/** Changes an export, pauses it and deletes it. */
export function SettingsPage() {
  const { row, ids } = useExport();
  return (
    <>
      <Change row={row} ids={ids} />
      <p className="muted small">
        Created <Instant at={row.created_at} is_exact />, changed{' '}
        <Instant at={row.last_updated_at} is_exact />.
      </p>
      <AsYaml kind="batch_export" id={row.id} />
      {row.destination.type === 'Delta' && (
        <Section title="Maintenance of the table">
          <TableMaintenance ids={ids} />
        </Section>
      )}
      <Section title={row.paused ? 'Paused' : 'Pause'}>
        {row.paused ? <Unpause row={row} ids={ids} /> : <Pause row={row} ids={ids} />}
      </Section>
      <Section title="Delete">
        <Delete row={row} ids={ids} />
      </Section>
    </>
  );
}

/** The form of the export, with its stored values. */
function Change({ row, ids }: Own) {
  const { project_id, id } = ids;
  const navigate = useNavigate();
  const readAnew = useReadAnew(pathTo('/api/projects/:id/', { id: project_id }));
  const queries = useQueryClient();
  const types = useQuery(destinationTypes);
  const secrets = useQuery(
    reading(pathTo('/api/projects/:project_id/batch_exports/:id/secret_keys/', { project_id, id })),
  );
  const { turn, next } = useTurn();
  return (
    <Shown query={types}>
      {({ results }) => (
        <Shown query={secrets}>
          {({ secret_keys }) => (
            <ExportForm
              key={turn}
              project_id={project_id}
              types={results}
              export_id={id}
              base={row}
              stored_secrets={secret_keys}
              etag={etagOf(row)}
              saved={async () => {
                await readAnew();
                await navigate({
                  to: '/projects/$project_id/exports/$export_id',
                  params: { project_id, export_id: id },
                });
              }}
              // Restarts with the currently stored values, which this tab may not know yet.
              discarded={async () => {
                await queries.invalidateQueries({ queryKey: [exportPath(ids)], exact: true });
                next();
              }}
            />
          )}
        </Shown>
      )}
    </Shown>
  );
}

type Own = { row: BatchExport; ids: ExportIds };

function Pause({ row, ids }: Own) {
  const done = useDone();
  return (
    <>
      <p>A paused export plans no runs. Runs in progress and backfills continue.</p>
      <Form
        path={pathTo('/api/projects/:project_id/batch_exports/:id/pause/', ids)}
        if_match={etagOf(row)}
        done={() => done('The export is paused.', { queryKey: [exportPath(ids)] })}
        button="Pause the export"
        tone="danger"
      />
    </>
  );
}

function Unpause({ row, ids }: Own) {
  const done = useDone();
  const [makes_up, setMakesUp] = useState(true);
  return (
    <>
      <p>
        No runs are planned
        {row.last_paused_at !== null && (
          <>
            {' '}
            since <Instant at={row.last_paused_at} is_exact />
          </>
        )}
        . <Sentence text={row.pause_reason?.detail ?? ''} />
      </p>
      <Form
        path={pathTo('/api/projects/:project_id/batch_exports/:id/unpause/', ids)}
        body={() => ({ backfill: makes_up })}
        if_match={etagOf(row)}
        done={() => done('The export is resumed.', { queryKey: [exportPath(ids)] })}
        button="Resume the export"
      >
        <Checkbox
          label="Deliver the missed intervals"
          checked={makes_up}
          onChange={({ target }) => setMakesUp(target.checked)}
        />
      </Form>
    </>
  );
}

function Delete({ row, ids }: Own) {
  const navigate = useNavigate();
  return (
    <TypedForm
      name={row.name}
      text={
        'Sluice deletes its runs, receipts and ledger, and cancels runs in progress. Delivered ' +
        'rows stay at the destination. A new export would deliver them again.'
      }
      path={exportPath(ids)}
      if_match={etagOf(row)}
      done={() =>
        navigate({
          to: '/projects/$project_id/exports',
          params: { project_id: String(row.team_id) },
        })
      }
      button="Delete the export"
    />
  );
}
