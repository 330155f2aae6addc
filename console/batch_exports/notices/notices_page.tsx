import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useContext, useState } from 'react';
import type { NoticeDelivery } from '../../../server/api/notice_deliveries/schema.ts';
import { ActButton } from '../act_button.tsx';
import { useExport } from '../export_context.ts';
import { Empty } from '../../page/empty.tsx';
import { Pages } from '../../page/tables/pages.tsx';
import { Shown } from '../../page/shown.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { exactly } from '../../time/words.ts';
import { counted } from '../../page/text/quantities.ts';
import { delivery_states, event_words } from './notice_words.ts';
import { noticeDeliveries, oneDelivery, page_size } from './notices.ts';
import { pathTo } from '../../http/path.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/notices');

/** Shows the notices of an export, their receivers, and the result of each attempt. */
export function NoticesPage() {
  const { row } = useExport();
  const { page: text = '1' } = route.useSearch();
  const navigate = route.useNavigate();
  const page = Math.max(1, Math.trunc(Number(text)) || 1);
  const query = useQuery(noticeDeliveries(row.team_id, row.id, page));
  return (
    <Shown query={query}>
      {({ count, results }) => (
        <>
          {count === 0 && (
            <Empty
              title="No notice in the last 30 days"
              way={
                <Link
                  to="/projects/$project_id/notices"
                  params={{ project_id: String(row.team_id) }}
                  className="act"
                >
                  Choose who gets notices
                </Link>
              }
            >
              Sluice sends a notice when this export starts to fail, is late or is paused, and when
              that has ended.
            </Empty>
          )}
          <ul className="records">
            {results.map((delivery) => (
              <li key={delivery.id}>
                <Delivery delivery={delivery} />
              </li>
            ))}
          </ul>
          <Pages
            count={count}
            page={page}
            size={page_size}
            go={(wanted) => void navigate({ search: { page: String(wanted) } })}
          />
        </>
      )}
    </Shown>
  );
}

function Delivery({ delivery }: { delivery: NoticeDelivery }) {
  const queries = useQueryClient();
  const zone = useContext(ZoneContext);
  const [is_open, setOpen] = useState(false);
  const { id, team_id, event, address, outcome, attempts, next_attempt_at, created_at } = delivery;
  const { word, tone } = delivery_states[outcome];
  const sent = async () => {
    await queries.invalidateQueries({
      predicate: ({ queryKey: [key] }) =>
        typeof key === 'string' && key.includes('/notice_deliveries/'),
    });
    return 'Sluice sends it again.';
  };
  return (
    <div>
      <p>
        <strong>{event_words[event]}</strong> <Instant at={created_at} is_exact />{' '}
        <span className="muted">to {address ?? 'a webhook'}</span>
      </p>
      <p>
        <span className={tone}>{word}</span>{' '}
        <span className="muted">after {counted(attempts, 'attempt')}</span>
        {next_attempt_at !== null && (
          <span className="muted">
            , next <Instant at={next_attempt_at} />
          </span>
        )}
      </p>
      <p className="row_actions">
        <ActButton
          path={pathTo('/api/projects/:project_id/notice_deliveries/:id/send/', {
            project_id: team_id,
            id,
          })}
          label="Send again"
          about={`the notice “${event_words[event]}” of ${exactly(created_at, zone)}`}
          done={sent}
        />
      </p>
      <details className="seldom" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>Content and attempts</summary>
        {is_open && <Attempts delivery={delivery} />}
      </details>
    </div>
  );
}

function Attempts({ delivery: { team_id, id } }: { delivery: NoticeDelivery }) {
  const query = useQuery(oneDelivery(team_id, id));
  return (
    <Shown query={query}>
      {({ body, tries }) => (
        <>
          <ol className="results">
            {tries.map(({ number, at, outcome, status, detail }) => (
              <li key={number}>
                <Instant at={at} is_exact />: {outcome.replace('_', ' ')}
                {status !== null && `, status ${status}`}
                {detail !== null && (
                  <>
                    , <Sentence text={detail} />
                  </>
                )}
              </li>
            ))}
          </ol>
          <pre className="query" tabIndex={0} role="region" aria-label={`Body of the notice ${id}`}>
            {body}
          </pre>
        </>
      )}
    </Shown>
  );
}
