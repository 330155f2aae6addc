import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useContext } from 'react';
import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { destinationTypes } from '../../destinations/destinations.ts';
import { pathTo } from '../../http/path.ts';
import { pathOf } from '../../http/reading.ts';
import { Page } from '../../page/page.tsx';
import { Shown } from '../../page/shown.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { NoSuchExport } from '../no_such_export.tsx';
import { oneExport } from '../one_export.ts';
import { useReadAnew } from '../read_anew.ts';
import { copyOf } from './copied.ts';
import { draftOf } from './draft.ts';
import { ExportForm } from './export_form.tsx';
import { useTurn } from './turn.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/new');

/** Creates an export: empty, as a copy of another one, or for a destination. */
export function NewPage() {
  const { copy_of, destination } = route.useSearch();
  const query = useQuery(destinationTypes);
  return (
    <Page title="New export" request={pathOf(destinationTypes)}>
      <Shown query={query}>
        {({ results }) =>
          copy_of === undefined ? (
            <New types={results} type={destination} />
          ) : (
            <Copy id={copy_of} types={results} />
          )
        }
      </Shown>
    </Page>
  );
}

type Types = { types: DestinationType[] };

function Copy({ id, types }: Types & { id: string }) {
  const { project_id } = route.useParams();
  const query = useQuery({ ...oneExport(project_id, id), refetchInterval: false });
  return (
    <Shown query={query} missing={<NoSuchExport project_id={project_id} />}>
      {(row) => (
        <>
          <p className="muted">
            A copy of “<bdi>{row.name}</bdi>”. Enter its secrets again: Sluice never shows them.
          </p>
          <New key={id} types={types} copied={row} />
        </>
      )}
    </Shown>
  );
}

function New({ types, copied, type }: Types & { copied?: BatchExport; type?: string | undefined }) {
  const { project_id } = route.useParams();
  const navigate = route.useNavigate();
  const readAnew = useReadAnew(pathTo('/api/projects/:id/', { id: project_id }));
  const zone = useContext(ZoneContext);
  const { turn, next } = useTurn();
  const chosen = types.find((one) => one.type === type);
  const given =
    copied !== undefined
      ? { id: copied.id, draft: copyOf(copied, types, zone) }
      : chosen && { id: chosen.type, draft: { ...draftOf(undefined, zone), type: chosen.type } };
  return (
    <ExportForm
      key={turn}
      project_id={project_id}
      types={types}
      base={undefined}
      {...(given === undefined ? {} : { copied: given })}
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
  );
}
