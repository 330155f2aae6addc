import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { FoundTool } from '../../../server/api/batch_exports/find/schema.ts';
import { pathTo } from '../../http/path.ts';
import { reading } from '../../http/reading.ts';
import { Exchanges } from '../../page/exchange.tsx';
import { Seldom } from '../../page/section.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant } from '../../time/instant.tsx';
import type { State } from '../state.ts';
import { StateMark } from '../state_mark.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/find');

const states: Record<FoundTool['state'], State> = {
  sent: { word: 'Sent', tone: 'good' },
  set_aside: { word: 'Set aside', tone: 'bad' },
  discarded: { word: 'Discarded', tone: 'warn', shape: 'stop' },
  waiting: { word: 'Waiting', tone: 'muted', shape: 'glass' },
  not_sent: { word: 'Not sent', tone: 'muted' },
};

const outcomes: Record<FoundTool['sends'][number]['outcome'], string> = {
  sent: 'sent',
  set_aside: 'set aside',
  retry: 'failed, to be retried',
  denied: 'settings not accepted',
};

/** Shows the results of the event at tools, with requests and answers. */
export function InTools({ tools, uuid }: { tools: FoundTool[]; uuid: string }) {
  return (
    <ul className="records">
      {tools.map((tool) => (
        <li key={tool.plugin_config}>
          <InTool {...{ tool, uuid }} />
        </li>
      ))}
    </ul>
  );
}

function InTool({ tool, uuid }: { tool: FoundTool; uuid: string }) {
  const [is_open, setOpen] = useState(false);
  const { state, name, detail, sends, plugin_config } = tool;
  return (
    <div>
      <p>
        <StateMark state={states[state]} /> to the tool <bdi>{name}</bdi>
      </p>
      <p>
        <Sentence text={detail} />
      </p>
      {sends.length > 0 && (
        <Seldom summary="Requests and answers" toggled={() => setOpen((was) => !was)}>
          {is_open && <Sends {...{ uuid, plugin_config }} />}
        </Seldom>
      )}
    </div>
  );
}

function Sends({ uuid, plugin_config }: { uuid: string; plugin_config: number }) {
  const { project_id } = route.useParams();
  const query = useQuery(
    reading(
      pathTo(
        '/api/projects/:project_id/plugin_configs/:id/sends/',
        { project_id, id: plugin_config },
        { event_uuid: uuid },
      ),
    ),
  );
  return (
    <Shown query={query}>
      {({ results }) =>
        results.map((send) => (
          <div key={`${send.at} ${send.mapping}`}>
            <p>
              <Instant at={send.at} is_exact /> at <bdi>{send.mapping}</bdi>:{' '}
              {outcomes[send.outcome]}
              {send.status !== null && ` (${send.status})`}
              {send.is_replay && ', by a replay'}
            </p>
            {send.exchanges === null ? (
              <p className="muted">An erasure of another event removed request and answer.</p>
            ) : (
              <Exchanges exchanges={send.exchanges} />
            )}
          </div>
        ))
      }
    </Shown>
  );
}
