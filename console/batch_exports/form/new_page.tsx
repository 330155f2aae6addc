import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { destinationTypes } from '../../destinations/destinations.ts';
import { pathOf } from '../../http/reading.ts';
import { Page } from '../../page/page.tsx';
import { Shown } from '../../page/shown.tsx';
import { useReadAnew } from '../read_anew.ts';
import { useTurn } from './turn.ts';
import { ExportForm } from './export_form.tsx';
import { pathTo } from '../../http/path.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/new');

/** Creates an export. */
export function NewPage() {
  const { project_id } = route.useParams();
  const navigate = route.useNavigate();
  const readAnew = useReadAnew(pathTo('/api/projects/:id/', { id: project_id }));
  const query = useQuery(destinationTypes);
  const { turn, next } = useTurn();
  return (
    <Page title="New export" request={pathOf(destinationTypes)}>
      <Shown query={query}>
        {({ results }) => (
          <ExportForm
            key={turn}
            project_id={project_id}
            types={results}
            base={undefined}
            etag={undefined}
            saved={async ({ id }) => {
              await readAnew();
              await navigate({
                to: '/projects/$project_id/exports/$export_id',
                params: { project_id, export_id: id },
              });
            }}
            discarded={next}
          />
        )}
      </Shown>
    </Page>
  );
}
