import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import { Rows } from '../page/tables/rows.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { reason_words } from './reason_words.ts';
import { refusedEvent, refusedEvents } from './refused_events.ts';
import type { Refused } from './refused_events.ts';
import { pathTo } from '../http/path.ts';

type Given = { project_id: string };

/** The stored refused events, with a button to send them again. */
export function RefusedSection({ project_id }: Given) {
  const query = useQuery(refusedEvents(project_id));
  const { count = 0, results = [] } = query.data ?? {};
  if (count === 0) return null;
  return (
    <Section title="Refused events" is_wide>
      <p>
        Sluice keeps refused events of SDKs for some days. Correct one and send it again.
        {count > results.length &&
          ` The newest ${results.length} of ${count.toLocaleString('en')} are shown.`}
      </p>
      <SendAll project_id={project_id} />
      <Rows
        rows={results}
        keyOf={({ id }) => id}
        columns={{
          Event: ({ event, reason }) => (
            <bdi>{event || (reason === 'request_refused' ? 'A whole request' : 'No name')}</bdi>
          ),
          Reason: ({ reason, detail }) => (
            <>
              {reason_words[reason]} <span className="muted">{detail}</span>
            </>
          ),
          'Distinct id': { long: ({ distinct_id }) => <bdi>{distinct_id ?? ''}</bdi> },
          Received: { short: ({ received_at }) => <Instant at={received_at} /> },
          Content: (refused) => <Content project_id={project_id} refused={refused} />,
        }}
      />
    </Section>
  );
}

function SendAll({ project_id }: Given) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/projects/:project_id/refused_events/resend/', { project_id })}
      done={({ stored, refused, next_after }) =>
        done(
          `Stored: ${stored}. Refused again: ${refused}.` +
            (next_after === null ? '' : ' There are more: use the API for the others.'),
          refusedEvents(project_id),
        )
      }
      button="Send all again"
    />
  );
}

type OneRefused = Given & { refused: Refused };

/** Read when opened, because the content may have some megabytes. */
function Content(given: OneRefused) {
  const [is_wanted, setWanted] = useState(false);
  const name = given.refused.event || given.refused.id;
  return (
    <Seldom summary={`Show and correct ${name}`} toggled={() => setWanted(true)}>
      {is_wanted && <Correct {...given} />}
    </Seldom>
  );
}

function Correct({ project_id, refused: { id, event } }: OneRefused) {
  const query = useQuery(refusedEvent(project_id, id));
  const done = useDone();
  return (
    <Shown query={query}>
      {({ content }) => (
        <Form
          path={pathTo('/api/projects/:project_id/refused_events/:id/resend/', { project_id, id })}
          body={({ content: corrected }) => ({ content: corrected })}
          done={({ outcome, detail }) =>
            done(
              outcome === 'stored' ? 'The event is stored.' : `Refused again: ${detail}`,
              refusedEvents(project_id),
            )
          }
          button="Send again"
          about={event || id}
          part={null}
        >
          <LongField name="content" label="Content" rows={8} defaultValue={content} />
        </Form>
      )}
    </Shown>
  );
}
