import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { NoticeDelivery } from '../../server/api/notice_deliveries/schema.ts';
import { batchExports } from '../batch_exports/batch_exports.ts';
import { delivery_states, event_words } from '../batch_exports/notices/notice_words.ts';
import { Form } from '../form/form.tsx';
import { pathTo } from '../http/path.ts';
import { Empty } from '../page/empty.tsx';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import { useDone } from '../page/section.tsx';
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
    <PagedRows
      query={useQuery(list)}
      page={page}
      size={deliveries_size}
      go={setPage}
      keyOf={({ id }) => id}
      columns={{
        Notice: ({ event }) => event_words[event],
        About: { long: (one) => <About delivery={one} names={names} /> },
        Written: ({ created_at }) => <Instant at={created_at} />,
        State: (one) => <State delivery={one} />,
        Answer: { long: (one) => <Answer delivery={one} /> },
        Change: (one) => <SendAgain delivery={one} list={list} />,
      }}
      empty={
        <Empty title="No notice in the last 30 days">
          A notice is sent when the state of an export or a tool changes. Send a test to see one
          now.
        </Empty>
      }
    />
  );
}

type OfDelivery = { delivery: NoticeDelivery };

/** A link to the export, by its name if it is among the newest. */
function About({ delivery, names }: OfDelivery & { names: ReadonlyMap<string, string> }) {
  const project_id = String(delivery.team_id);
  const export_id = delivery.batch_export;
  return export_id === null ? (
    <Link to="/projects/$project_id/plugins" params={{ project_id }}>
      A tool
    </Link>
  ) : (
    <Link to="/projects/$project_id/exports/$export_id" params={{ project_id, export_id }}>
      {names.get(export_id) ?? export_id}
    </Link>
  );
}

function State({ delivery: { outcome, next_attempt_at } }: OfDelivery) {
  const { word, tone } = delivery_states[outcome];
  return (
    <>
      <span className={tone}>{word}</span>
      {next_attempt_at !== null && (
        <span className="muted">
          , next try {isDue(next_attempt_at) ? 'now' : <Instant at={next_attempt_at} />}
        </span>
      )}
    </>
  );
}

function SendAgain({
  delivery: { id, team_id },
  list,
}: OfDelivery & { list: ReturnType<typeof deliveriesOf> }) {
  const done = useDone();
  const project_id = String(team_id);
  return (
    <Form
      path={pathTo('/api/projects/:project_id/notice_deliveries/:id/send/', { project_id, id })}
      done={() => done('Sluice sends the notice again.', list)}
      button="Send again"
      about={`the notice ${id}`}
      tone="plain"
    />
  );
}

function isDue(at: string): boolean {
  return Date.parse(at) <= now();
}

function Answer({ delivery: { last_try, attempts } }: OfDelivery) {
  if (last_try === null) return <span className="muted">Not tried yet</span>;
  const said = last_try.detail ?? (last_try.status === null ? 'Accepted' : `${last_try.status}`);
  return (
    <>
      {said} <span className="muted">{attempts > 1 && `(attempt ${attempts})`}</span>
    </>
  );
}
