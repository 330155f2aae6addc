import IconCircleCheck from 'icon:circle-check';
import IconCircleDashed from 'icon:circle-dashed';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { addressOf } from '../http/address.ts';
import { pathOf } from '../http/reading.ts';
import { useCommandLine } from '../page/around/command_line.tsx';
import { Command } from '../page/command.tsx';
import { Page } from '../page/page.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { projectOf } from '../projects/project.ts';
import { CountSections } from './count_sections.tsx';
import { FirstExport } from './first_export.tsx';
import { isLively, newestEvents } from './events.ts';
import type { Newest } from './events.ts';
import { LiveEvents } from './live_events.tsx';
import { SendingKey } from './sending_key.tsx';
import { ways } from './ways.ts';
import type { Way } from './ways.ts';

const route = getRouteApi('/signed_in/projects/$project_id/events');

/** Shows how to send events, and the latest ones; before the first event, the first steps. */
export function EventsPage() {
  const { project_id } = route.useParams();
  const newest = newestEvents(project_id);
  const query = useQuery(newest);
  return (
    <Page title="Events" request={pathOf(newest)}>
      <Shown query={query}>
        {({ results }) => {
          const [first] = results;
          return (
            <>
              {first !== undefined && <FirstExport project_id={project_id} newest={first} />}
              {first !== undefined && (
                <CountSections project_id={project_id} is_lively={isLively({ results })} />
              )}
              {first !== undefined && <LiveEvents project_id={project_id} />}
              <Ways project_id={project_id} first={first} />
            </>
          );
        }}
      </Shown>
    </Page>
  );
}

function Ways({
  project_id,
  first,
}: {
  project_id: string;
  first: Newest['results'][number] | undefined;
}) {
  const [key, setKey] = useState<string>();
  const project = useQuery(projectOf(project_id));
  const commandLine = useCommandLine();
  const write_key = project.data?.api_token ?? '';
  const keys = { project_id, key: key ?? '$KEY', write_key, commandLine };
  const has_arrived = first !== undefined;
  const Icon = has_arrived ? IconCircleCheck : IconCircleDashed;
  return (
    <Section title="Get events in">
      <p role="status" className={`with_icon lead ${has_arrived ? 'good' : 'muted'}`}>
        <Icon size={18} aria-hidden />{' '}
        {has_arrived ? 'Events arrive' : 'Waiting for your first event'}
      </p>
      {key === undefined && (
        <>
          <p>These commands need an API key. Create a send-only key, or replace $KEY with yours.</p>
          <SendingKey project_id={Number(project_id)} created={setKey} />
        </>
      )}
      {ways.map((way) => (
        <OneWay key={way.title} way={way} command={way.command(keys)} />
      ))}
    </Section>
  );
}

function OneWay({ way, command }: { way: Way; command: string }) {
  return (
    <article className="way">
      <h3>{way.title}</h3>
      <p className="muted">
        {way.hint} {way.docs && <a href={addressOf(way.docs.path)}>{way.docs.text}</a>}
      </p>
      <Command text={command} what={way.title} />
    </article>
  );
}
