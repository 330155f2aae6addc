import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { SchemaProposal } from '../../server/api/schema_columns/schema.ts';
import { ActButton } from '../batch_exports/act_button.tsx';
import { pathOf } from '../http/reading.ts';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { counted } from '../page/text/quantities.ts';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Section, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { AddColumn } from './add_column.tsx';
import { ColumnSection } from './column_section.tsx';
import { propertiesProposed } from './proposed.tsx';
import { Fit } from './fit.tsx';
import { freezePath, propertyWords, schemaColumns, schemaProposals } from './schema_columns.ts';
import { CatalogueTabs } from './tabs.tsx';
import { Whose } from './whose.tsx';
import './catalogue.css';

const route = getRouteApi('/signed_in/projects/$project_id/event_catalogue/schema');

/** Shows the properties that could be columns of exports, and the existing columns. */
export function SchemaPage() {
  const { project_id } = route.useParams();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = schemaColumns(project_id, page);
  return (
    <Page title="Event catalogue" part="Schema" request={pathOf(list)}>
      <CatalogueTabs project_id={project_id} />
      <Section title="Proposed" is_wide>
        <Proposals project_id={project_id} page={page} />
      </Section>
      <Section title="Columns" is_wide>
        <ColumnSection
          project_id={project_id}
          page={page}
          go={(to) => void navigate({ search: to === 1 ? {} : { page: to } })}
        />
        <AddColumn project_id={project_id} page={page} />
      </Section>
    </Page>
  );
}

function Proposals({ project_id, page }: { project_id: string; page: number }) {
  const list = schemaProposals(project_id);
  const query = useQuery(list);
  const done = useDone();
  const frozen = async (names: string[]) => {
    await done(`${counted(names.length, 'column')} frozen.`, list, schemaColumns(project_id, page));
    return '';
  };
  return (
    <Shown query={query}>
      {({ count, results }) =>
        count === 0 ? (
          <Empty
            title="Nothing is proposed"
            way={
              <Link to="/projects/$project_id/events" params={{ project_id }}>
                Send events
              </Link>
            }
          >
            Sluice proposes a type for a property after ten values of it came in. A frozen property
            is a column in exports with typed columns, and keeps its type.
          </Empty>
        ) : (
          <>
            <div className="proposals">
              <p className="lead">{propertiesProposed(count)}</p>
              <ActButton
                path={freezePath(project_id)}
                label="Freeze all"
                done={({ frozen: names }) => frozen(names)}
                size="compact-sm"
                is_primary
              />
            </div>
            <p className="muted">
              A frozen property is a column in exports with typed columns. The column keeps its type
              and its name. Values that do not fit stay whole in the rest column.
            </p>
            <Rows
              rows={results}
              keyOf={propertyWords}
              columns={{
                ...proposal_columns,
                Type: (one) => <Freeze {...{ project_id, frozen }} proposal={one} />,
              }}
            />
            {count > results.length && (
              <p className="muted">
                The first {results.length} are shown. The others follow once these are frozen.
              </p>
            )}
          </>
        )
      }
    </Shown>
  );
}

const proposal_columns: Columns<SchemaProposal> = {
  Property: (one) => <Whose of={one} />,
  Column: {
    long: ({ column, namesakes }) => (
      <>
        {column === null ? 'None: the schema is full' : <code>{column}</code>}
        {namesakes.length > 0 && (
          <div className="muted">
            Not the same as <bdi>{namesakes.join(', ')}</bdi>
          </div>
        )}
      </>
    ),
  },
  Values: ({ values, misfits }) => <Fit values={values} misfits={misfits} />,
};

function Freeze({
  project_id,
  proposal,
  frozen,
}: {
  project_id: string;
  proposal: SchemaProposal;
  frozen: (names: string[]) => Promise<string>;
}) {
  const { source, property, column, other_types } = proposal;
  const [type, setType] = useState(proposal.type);
  return (
    <span className="type_choice">
      {other_types.length === 0 ? (
        <span className="type_word">{type}</span>
      ) : (
        <NativeSelect
          size="xs"
          aria-label={`Type of ${propertyWords(proposal)}`}
          value={type}
          onChange={({ currentTarget: { value } }) => setType(value as typeof type)}
          data={[proposal.type, ...other_types]}
        />
      )}
      {column !== null && (
        <ActButton
          path={freezePath(project_id)}
          body={{ properties: [{ property, type, source }] }}
          label="Freeze"
          about={propertyWords(proposal)}
          done={({ frozen: names }) => frozen(names)}
        />
      )}
    </span>
  );
}
