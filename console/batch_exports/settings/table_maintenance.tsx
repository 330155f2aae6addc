import { useQuery } from '@tanstack/react-query';
import { Form } from '../../form/form.tsx';
import { pathTo } from '../../http/path.ts';
import { reading } from '../../http/reading.ts';
import { Rounds } from '../../lake_tables/maintenance.tsx';
import { Shown } from '../../page/shown.tsx';
import { useDone } from '../../page/section.tsx';
import type { ExportIds } from '../export_context.ts';

/** Shows when Sluice maintained the Delta table of an export, and begins a round now. */
export function TableMaintenance({ ids }: { ids: ExportIds }) {
  const done = useDone();
  const path = pathTo('/api/projects/:project_id/batch_exports/:id/maintenance/', ids);
  return (
    <>
      <Shown query={useQuery(reading(path))}>{(rounds) => <Rounds rounds={rounds} />}</Shown>
      <Form
        path={pathTo('/api/projects/:project_id/batch_exports/:id/maintain/', ids)}
        done={() => done('A round begins within a minute.', { queryKey: [path] })}
        button="Maintain the table now"
      />
    </>
  );
}
