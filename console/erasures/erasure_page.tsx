import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useDestinationLabel } from '../destinations/destinations.ts';
import { pathOf } from '../http/reading.ts';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import { Command } from '../page/command.tsx';
import { Page } from '../page/page.tsx';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Section } from '../page/section.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import {
  askedInWords,
  copiesOf,
  copy_words,
  countsOf,
  erasureOf,
  isLookingForCopies,
  step_words,
  tool_states,
  toolsOf,
} from './erasures.ts';
import type { ErasureRow, ToolRow } from './erasures.ts';

const route = getRouteApi('/signed_in/projects/$project_id/erasures/$erasure_id');

/** One erasure: its progress, its counts, its copies, and its certificate. */
export function ErasurePage() {
  const { project_id, erasure_id } = route.useParams();
  const read = erasureOf(project_id, erasure_id);
  const query = useQuery(read);
  const missing = (
    <NoSuch noun="erasure">
      <Link to="/projects/$project_id/erasures" params={{ project_id }}>
        The erasures of this project
      </Link>
    </NoSuch>
  );
  return (
    <Page title="Erasure" request={pathOf(read)}>
      <Shown query={query} missing={missing}>
        {(erasure) => (
          <>
            <State erasure={erasure} />
            <Section title="What was found">
              <Counts erasure={erasure} />
            </Section>
            <Section title="Copies that were delivered" is_wide>
              <Copies project_id={project_id} erasure={erasure} />
            </Section>
            {erasure.kind === 'persons' && <Tools project_id={project_id} erasure={erasure} />}
            {erasure.certificate !== null && (
              <Section title="Certificate">
                <Certificate erasure={erasure} />
              </Section>
            )}
          </>
        )}
      </Shown>
    </Page>
  );
}

function State({ erasure }: { erasure: ErasureRow }) {
  const { status, step, detail, late_events, kind, created_at, created_by, finished_at } = erasure;
  return (
    <>
      <p aria-live="polite" className={status === 'Completed' ? 'good' : undefined}>
        {step_words[step]}
        {finished_at !== null && (
          <>
            {' '}
            <Instant at={finished_at} is_exact />
          </>
        )}
        .{detail !== null && ` ${detail}`}
      </p>
      <p className="muted">
        {askedInWords(erasure)}, asked for <Instant at={created_at} />
        {created_by !== null && ` by ${created_by}`}.
        {kind === 'persons' &&
          (late_events === 'refuse'
            ? ' Later events of these persons are not stored.'
            : ' Later events of them are stored without person and properties.')}
      </p>
    </>
  );
}

function Counts({ erasure }: { erasure: ErasureRow }) {
  const counts = countsOf(erasure);
  if (counts.length === 0)
    return (
      <p className="muted">
        {erasure.status === 'Completed'
          ? 'Nothing: the project has no such persons or events.'
          : 'Nothing yet.'}
      </p>
    );
  return (
    <dl className="differences">
      {counts.map(([name, count]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{count.toLocaleString('en')}</dd>
        </div>
      ))}
    </dl>
  );
}

function Copies({ project_id, erasure }: { project_id: string; erasure: ErasureRow }) {
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const labelOf = useDestinationLabel();
  const query = useQuery(copiesOf(project_id, erasure, page));
  return (
    <PagedRows
      query={query}
      page={page}
      go={(to) => void navigate({ search: to === 1 ? {} : { page: to } })}
      keyOf={({ run }) => run}
      columns={{
        Export: ({ name, batch_export }) => (
          <Link
            to="/projects/$project_id/exports/$export_id"
            params={{ project_id, export_id: batch_export }}
          >
            <bdi>{name}</bdi>
          </Link>
        ),
        Where: { long: ({ destination_type, place }) => `${labelOf(destination_type)}: ${place}` },
        Interval: ({ data_interval_start, data_interval_end }) => (
          <>
            <Instant at={data_interval_start} is_exact /> until{' '}
            <Instant at={data_interval_end} is_exact />
          </>
        ),
        Rows: ({ records }) => records.toLocaleString('en'),
        State: {
          long: ({ state, detail }) => (
            <span className={state === 'yours' ? 'bad' : undefined}>
              {copy_words[state]}
              {detail !== null && `: ${detail}`}
            </span>
          ),
        },
      }}
      empty={
        <p className="muted">
          {isLookingForCopies(erasure) ? 'Sluice is looking for them.' : 'None is known.'}
        </p>
      }
    />
  );
}

/** Shows which tools were notified of the persons; nothing for a project without tools. */
function Tools({ project_id, erasure }: { project_id: string; erasure: ErasureRow }) {
  const query = useQuery(toolsOf(project_id, erasure));
  if (query.data?.count === 0) return null;
  return (
    <Section title="Tools that received events" is_wide>
      <Shown query={query}>
        {({ results }) => (
          <Rows
            rows={results}
            keyOf={({ plugin_config }) => plugin_config}
            columns={tool_columns}
          />
        )}
      </Shown>
    </Section>
  );
}

const tool_columns: Columns<ToolRow> = {
  Tool: ({ name }) => <bdi>{name}</bdi>,
  State: {
    long: ({ state, detail }) => {
      const { word, shape, tone } = tool_states[state];
      return (
        <span className={tone}>
          <span aria-hidden="true">{shape}</span> {word}
          {detail !== null && `: ${detail}`}
        </span>
      );
    },
  },
  Told: ({ told, ids }) => `${told.toLocaleString('en')} of ${ids.toLocaleString('en')} ids`,
  When: ({ told_at, next_try_at }) => (
    <>
      {told_at !== null && <Instant at={told_at} />}
      {next_try_at !== null && (
        <>
          Next try <Instant at={next_try_at} is_exact />
        </>
      )}
    </>
  ),
};

function Certificate({ erasure }: { erasure: ErasureRow }) {
  const { certificate, signature, public_key } = erasure;
  return (
    <>
      <p>
        It lists the erased data, and does not name the persons. The signature (Ed25519) covers
        exactly this text.
      </p>
      <Command text={certificate ?? ''} what="the certificate" />
      <p>Signature</p>
      <Command text={signature ?? ''} what="the signature" />
      <p>Public key of the server</p>
      <Command text={public_key} what="the public key" />
    </>
  );
}
