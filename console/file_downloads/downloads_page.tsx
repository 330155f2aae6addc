import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useContext } from 'react';
import type { FileDownload } from '../../server/api/file_downloads/schema.ts';
import { model_choices } from '../batch_exports/form/draft.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { pathTo } from '../http/path.ts';
import { pathOf } from '../http/reading.ts';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { counted } from '../page/text/quantities.ts';
import { Section, useDone } from '../page/section.tsx';
import { Instant, ZoneContext } from '../time/instant.tsx';
import { now } from '../time/now.ts';
import { fieldOf } from '../time/zone.ts';
import { askedFor, nothing } from './asked_for.ts';
import {
  compression_choices,
  downloadsOf,
  downloadsPath,
  exportsOf,
  format_choices,
  partPath,
} from './file_downloads.ts';

const route = getRouteApi('/signed_in/projects/$project_id/downloads');
/** Most parts with a link; the API lists all. */
const links_max = 20;

/** Shows the downloads of the project, and the form for a new one. */
export function DownloadsPage() {
  const { project_id } = route.useParams();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = downloadsOf(project_id, page);
  const query = useQuery(list);
  const known = useQuery(exportsOf(project_id)).data?.results ?? [];
  const rowsOf = ({ model, batch_export }: FileDownload) =>
    known.find(({ id }) => id === batch_export)?.name ??
    model_choices.find(({ value }) => value === model)!.label;
  const go = (to: number) => navigate({ search: to === 1 ? {} : { page: to } });
  return (
    <Page title="Downloads" request={pathOf(list)}>
      <Section title="Download rows once">
        <NewDownload project_id={project_id} created={() => go(1)} />
      </Section>
      <Section title="Files" is_wide>
        <PagedRows
          query={query}
          page={page}
          go={(to) => void go(to)}
          keyOf={({ id }) => id}
          columns={{
            'Rows of': (one) => <bdi>{rowsOf(one)}</bdi>,
            ...columns,
            Action: (one) => <Delete download={one} rows={rowsOf(one)} list={list} />,
          }}
          empty={
            <Empty title="No downloads">
              A download shows its files here for 24 hours. For files every hour or day, create an
              export.
            </Empty>
          }
        />
      </Section>
    </Page>
  );
}

function NewDownload({
  project_id,
  created,
}: {
  project_id: string;
  created: () => Promise<void>;
}) {
  const zone = useContext(ZoneContext);
  const done = useDone();
  const known = useQuery(exportsOf(project_id)).data?.results ?? [];
  const day = fieldOf(now(), zone).slice(0, 10);
  return (
    <Form
      path={downloadsPath(project_id)}
      body={(values) => askedFor(values, zone, now())}
      done={async () => {
        // The newest download is on the first page.
        await created();
        await done('The download was created. Its files appear below.', downloadsOf(project_id, 1));
      }}
      button="Create download"
    >
      <ChoiceField name="model" label="Model" value="events" options={model_choices} />
      <ChoiceField
        name="batch_export"
        label="Export"
        hint="Its model, query and event names replace the model."
        value={nothing}
        options={[
          { value: nothing, label: 'None' },
          ...known.map(({ id, name }) => ({ value: id, label: name })),
        ]}
      />
      <TextField name="start_at" label={`First day (${zone})`} type="date" value={day} />
      <TextField
        name="end_at"
        label={`Last day (${zone})`}
        hint="At most 31 days."
        type="date"
        value={day}
      />
      <ChoiceField name="file_format" label="Format" value="CSV" options={format_choices} />
      <ChoiceField
        name="compression"
        label="Compression"
        value={nothing}
        options={compression_choices}
      />
    </Form>
  );
}

const tones = { Starting: undefined, Completed: 'good', Failed: 'bad' } as const;

const columns: Columns<FileDownload> = {
  Range: ({ start_at, end_at }) => (
    <>
      <Instant at={start_at} is_exact /> until <Instant at={end_at} is_exact />
    </>
  ),
  State: ({ status, records, detail, expires_at }) => (
    <span className={tones[status]}>
      {records === null ? detail : counted(records, 'row')}
      {status === 'Completed' && (
        <>
          , expires <Instant at={expires_at} />
        </>
      )}
    </span>
  ),
  Files: {
    long: (download) => (
      <>
        {download.parts.slice(0, links_max).map(({ number, name }) => (
          <div key={number}>
            <a href={partPath(download, number)} download={name}>
              {name}
            </a>
          </div>
        ))}
        {download.parts.length > links_max &&
          `and ${download.parts.length - links_max} more, by the API`}
      </>
    ),
  },
};

function Delete({
  download: { id, project },
  rows,
  list,
}: {
  download: FileDownload;
  rows: string;
  list: ReturnType<typeof downloadsOf>;
}) {
  const done = useDone();
  const ids = { project_id: String(project), id };
  return (
    <Form
      method="DELETE"
      path={pathTo('/api/projects/:project_id/file_downloads/:id/', ids)}
      part={id}
      done={() => done('The download was deleted.', list)}
      asks={() => ({
        title: `Delete the download of “${rows}”?`,
        text: 'Its files are deleted at once, and their links stop working.',
        button: 'Delete the download',
        keep: 'Cancel',
      })}
      tone="danger"
      button="Delete"
      about={`the download of ${rows}`}
    />
  );
}
