import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { NoticeDelivery } from '../../server/api/notice_deliveries/schema.ts';
import { batchExports } from '../batch_exports/batch_exports.ts';
import { delivery_states, event_words } from '../batch_exports/notices/notice_words.ts';
import { Form } from '../form/form.tsx';
import { pathTo } from '../http/path.ts';
import { Empty } from '../page/empty.tsx';
import { Pages } from '../page/tables/pages.tsx';
import { Rows } from '../page/tables/rows.tsx';
import { useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Table } from '../page/tables/table.tsx';
import { Instant } from '../time/instant.tsx';
import { now } from '../time/now.ts';
import { deliveriesOf, deliveries_size } from './notice_targets.ts';

type Given = { project_id: string; target_id: string };

/** The notices to a target, each with its answer and a button to send it again. */
export function Deliveries({ project_id, target_id }: Given) {
  const [page, setPage] = useState(1);
  const list = deliveriesOf(project_id, target_id, page);
  const { data: exports } = useQuery(batchExports(project_id, 1));
  const names = new Map(exports?.results.map(({ id, name }) => [id, name]));
  return (
    <Shown query={useQuery(list)}>
      {({ count, results }) =>
        count === 0 ? (
          <Empty title="No notice in the last 30 days">
            A notice is sent when the state of an export or a tool changes. Send a test to see one
            now.
          </Empty>
        ) : (
          <>
            <Rows columns={['Notice', 'About', 'Written', 'State', 'Answer', 'Change']}>
              {results.map((delivery) => (
                <Row
                  key={delivery.id}
                  delivery={delivery}
                  name={names.get(delivery.batch_export ?? '')}
                  list={list}
                />
              ))}
            </Rows>
            <Pages count={count} page={page} size={deliveries_size} go={setPage} />
          </>
        )
      }
    </Shown>
  );
}

function Row({
  delivery,
  name,
  list,
}: {
  delivery: NoticeDelivery;
  /** Undefined if the export is not among the newest. */
  name: string | undefined;
  list: ReturnType<typeof deliveriesOf>;
}) {
  const { id, event, batch_export: export_id, outcome, created_at, next_attempt_at } = delivery;
  const project_id = String(delivery.team_id);
  const done = useDone();
  const { word, tone } = delivery_states[outcome];
  return (
    <Table.Tr>
      <Table.Th scope="row">{event_words[event]}</Table.Th>
      <Table.Td data-label="About" className="long">
        {export_id === null ? (
          <Link to="/projects/$project_id/plugins" params={{ project_id }}>
            A tool
          </Link>
        ) : (
          <Link to="/projects/$project_id/exports/$export_id" params={{ project_id, export_id }}>
            {name ?? export_id}
          </Link>
        )}
      </Table.Td>
      <Table.Td data-label="Written">
        <Instant at={created_at} />
      </Table.Td>
      <Table.Td data-label="State">
        <span className={tone}>{word}</span>
        {next_attempt_at !== null && (
          <span className="muted">
            , next try {isDue(next_attempt_at) ? 'now' : <Instant at={next_attempt_at} />}
          </span>
        )}
      </Table.Td>
      <Table.Td data-label="Answer" className="long">
        <Answer delivery={delivery} />
      </Table.Td>
      <Table.Td data-label="Change">
        <Form
          path={pathTo('/api/projects/:project_id/notice_deliveries/:id/send/', { project_id, id })}
          done={() => done('Sluice sends the notice again.', list)}
          button="Send again"
          about={`the notice ${id}`}
          tone="plain"
        />
      </Table.Td>
    </Table.Tr>
  );
}

function isDue(at: string): boolean {
  return Date.parse(at) <= now();
}

function Answer({ delivery: { last_try, attempts } }: { delivery: NoticeDelivery }) {
  if (last_try === null) return <span className="muted">Not tried yet</span>;
  const said = last_try.detail ?? (last_try.status === null ? 'Accepted' : `${last_try.status}`);
  return (
    <>
      {said} <span className="muted">{attempts > 1 && `(attempt ${attempts})`}</span>
    </>
  );
}
