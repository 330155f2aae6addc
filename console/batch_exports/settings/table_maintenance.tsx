import { useQuery } from '@tanstack/react-query';
import { Form } from '../../form/form.tsx';
import { pathTo } from '../../http/path.ts';
import { reading } from '../../http/reading.ts';
import { Rounds } from '../../lake_tables/maintenance.tsx';
import { Shown } from '../../page/shown.tsx';
import { useDone } from '../../page/section.tsx';
import type { ExportIds } from '../export_context.ts';

/** Shows Sluice's maintenance of an export's Delta table, and starts a round on demand. */
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
