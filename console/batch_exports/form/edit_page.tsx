import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { destinationTypes } from '../../destinations/destinations.ts';
import { etagOf, pathOf, reading } from '../../http/reading.ts';
import { ManagedNote } from '../../configuration/managed_note.tsx';
import { Page } from '../../page/page.tsx';
import { Shown } from '../../page/shown.tsx';
import { NoSuchExport } from '../no_such_export.tsx';
import { oneExport } from '../one_export.ts';
import { useReadAnew } from '../read_anew.ts';
import { useTurn } from './turn.ts';
import { ExportForm } from './export_form.tsx';
import { pathTo } from '../../http/path.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/edit');

/** Changes an export. */
export function EditPage() {
  const { project_id, export_id } = route.useParams();
  const navigate = route.useNavigate();
  const readAnew = useReadAnew(pathTo('/api/projects/:id/', { id: project_id }));
  const one = oneExport(project_id, export_id);
  const queries = useQueryClient();
  const types = useQuery(destinationTypes);
  const query = useQuery(one);
  const secrets = useQuery(
    reading(
      pathTo('/api/projects/:project_id/batch_exports/:id/secret_keys/', {
        project_id,
        id: export_id,
      }),
    ),
  );
  const { turn, next } = useTurn();
  const missing = <NoSuchExport project_id={project_id} />;
  return (
    <Page title={`Edit ${query.data?.name ?? 'the export'}`} request={pathOf(one)}>
      <Shown query={types}>
        {({ results }) => (
          <Shown query={query} missing={missing}>
            {(row) => (
              <Shown query={secrets}>
                {({ secret_keys }) => (
                  <>
                    <ManagedNote by={row.managed_by} />
                    <ExportForm
                      key={turn}
                      project_id={project_id}
                      types={results}
                      export_id={export_id}
                      base={row}
                      stored_secrets={secret_keys}
                      etag={etagOf(row)}
                      saved={async () => {
                        await readAnew();
                        await navigate({
                          to: '/projects/$project_id/exports/$export_id',
                          params: { project_id, export_id },
                        });
                      }}
                      // Begins again with what is stored by now, which this tab may not know yet.
                      discarded={async () => {
                        await queries.invalidateQueries({ queryKey: one.queryKey, exact: true });
                        next();
                      }}
                    />
                  </>
                )}
              </Shown>
            )}
          </Shown>
        )}
      </Shown>
    </Page>
  );
}
