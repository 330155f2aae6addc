import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { pathOf } from '../http/reading.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { Section, Seldom } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { projectOf } from '../projects/project.ts';
import { Instant } from '../time/instant.tsx';
import { EraseEvents, ErasePersons } from './erase_forms.tsx';
import { askedInWords, erasuresOf, step_words } from './erasures.ts';
import type { ErasureRow } from './erasures.ts';

const route = getRouteApi('/signed_in/projects/$project_id/erasures');

/** Shows the erasures of the project, and the form for a new one. */
export function ErasuresPage() {
  const { project_id } = route.useParams();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = erasuresOf(project_id, page);
  const query = useQuery(list);
  const project = useQuery(projectOf(project_id));
  return (
    <Page title="Erasures" request={pathOf(list)}>
      <Section title="Erase data" is_wide>
        <p>
          Sluice deletes persons, or events that match a filter, from the store. It also deletes
          them at destinations that can be rewritten. Each erasure ends with a signed certificate.
        </p>
        <PagedRows
          query={query}
          page={page}
          go={(to) => void navigate({ search: to === 1 ? {} : { page: to } })}
          keyOf={({ id }) => id}
          columns={columnsOf(project_id)}
          empty={
            <Empty title="No erasures yet">
              An erasure shows its progress here, and its certificate when it ends.
            </Empty>
          }
        />
        <Shown query={project}>
          {({ organization }) => (
            <OnlyFor organization_id={organization} what="can request erasures">
              <Seldom summary="Erase persons">
                <ErasePersons project_id={project_id} />
              </Seldom>
              <Seldom summary="Erase events">
                <EraseEvents project_id={project_id} />
              </Seldom>
            </OnlyFor>
          )}
        </Shown>
      </Section>
    </Page>
  );
}

const columnsOf = (project_id: string): Columns<ErasureRow> => ({
  What: (erasure) => (
    <Link
      to="/projects/$project_id/erasures/$erasure_id"
      params={{ project_id, erasure_id: erasure.id }}
    >
      {askedInWords(erasure)}
    </Link>
  ),
  'Asked for': {
    long: ({ created_at, created_by }) => (
      <>
        <Instant at={created_at} />
        {created_by !== null && ` by ${created_by}`}
      </>
    ),
  },
  State: ({ status, step }) => (
    <span className={status === 'Completed' ? 'good' : undefined}>{step_words[step]}</span>
  ),
  Copies: ({ copies: { waiting, rewriting, rewritten, yours } }) => {
    const delivered = waiting + rewriting + rewritten + yours;
    const done = delivered === 0 ? 'None' : `${rewritten} of ${delivered} rewritten`;
    return yours > 0 ? `${done}, ${yours} yours` : done;
  },
});
