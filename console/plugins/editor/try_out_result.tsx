import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { PluginTryOutResult } from '../../../server/api/plugin_configs/try_out/schema.ts';
import { Panel } from '../../page/panel.tsx';
import { Seldom } from '../../page/section.tsx';
import { outcomeOf } from './outcome.ts';

type Request = PluginTryOutResult['requests'][number];
type Body = NonNullable<Request['body']>;

/** The result of a trial: result, each request with its answer, log, and effects. */
export function TryOutResult({
  result,
  allow,
  take,
}: {
  result: PluginTryOutResult;
  /** Allows a host for the next trial. */
  allow: (host: string) => void;
  /** Makes the event the editable sample. */
  take: (event: string) => void;
}) {
  const { calls, requests, refused_hosts, effects, logs, omitted, event } = result;
  const { word, tone, said } = outcomeOf(result);
  return (
    <Panel>
      <h3>
        <span className={tone}>{word}</span>
      </h3>
      <p>{said}</p>
      {refused_hosts.map((host) => (
        <Button key={host} size="compact-sm" onClick={() => allow(host)}>
          Allow {host}
        </Button>
      ))}
      {requests.length > 0 && <h4>Requests</h4>}
      {requests.map((request, at) => (
        <OneRequest key={at} request={request} />
      ))}
      <Lines title="Log">
        {logs.map(({ level, message }, at) => (
          <li key={at} className={level === 'error' ? 'bad' : level === 'warn' ? 'warn' : ''}>
            {message}
          </li>
        ))}
      </Lines>
      <Lines title="Effects in Sluice, not stored">
        {effects.map(({ kind, name, value }, at) => (
          <li key={at}>
            {kind_words[kind]} <code>{name}</code> {value !== null && <code>{value}</code>}
          </li>
        ))}
      </Lines>
      {omitted > 0 && <p className="muted">{omitted} more are not shown.</p>}
      <Calls calls={calls} />
      {event !== null && <Event text={JSON.stringify(event, undefined, 2)} take={take} />}
    </Panel>
  );
}

/** Lines with a title; nothing without lines. */
function Lines({ title, children }: { title: string; children: ReactNode[] }) {
  if (children.length === 0) return undefined;
  return (
    <>
      <h4>{title}</h4>
      <ol className="trial_lines">{children}</ol>
    </>
  );
}

function Calls({ calls }: Pick<PluginTryOutResult, 'calls'>) {
  return (
    <Seldom summary="Calls and results">
      <ol className="trial_lines">
        {calls.map(({ method, milliseconds, result, error }, at) => (
          <li key={at}>
            <code>{method}</code> {milliseconds} ms{' '}
            {error === null ? <code>{result ?? 'null'}</code> : <span>{error.message}</span>}
          </li>
        ))}
      </ol>
    </Seldom>
  );
}

function Event({ text, take }: { text: string; take: (event: string) => void }) {
  return (
    <Seldom summary="The event as the plugin got it">
      <Text label="Event" text={text} />
      <Button size="compact-sm" onClick={() => take(text)}>
        Change this event
      </Button>
    </Seldom>
  );
}

const kind_words = {
  capture: 'Event',
  job: 'Job',
  metric: 'Metric',
  storage: 'Storage',
} as const;

function OneRequest({ request }: { request: Request }) {
  const { method, url, headers, body, is_sent, answer, error } = request;
  const ending = answer === null ? (is_sent ? (error ?? 'no answer') : 'not sent') : answer.status;
  return (
    <Seldom summary={`${method} ${url}: ${ending}`} is_open>
      <Headers headers={headers} />
      {body !== null && <Content label="Body of the request" body={body} />}
      {answer !== null && (
        <>
          <p>
            Answer <strong>{answer.status}</strong>
          </p>
          <Headers headers={answer.headers} />
          <Content label="Body of the answer" body={answer.body} />
        </>
      )}
    </Seldom>
  );
}

function Headers({ headers }: { headers: Record<string, string> }) {
  return (
    <dl className="differences">
      {Object.entries(headers).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Content({ label, body: { text, size_bytes } }: { label: string; body: Body }) {
  if (text === null) return <p className="muted">{size_bytes} bytes that are no text.</p>;
  return text === '' ? (
    <p className="muted">No body.</p>
  ) : (
    <Text label={label} text={laidOut(text)} />
  );
}

/** Returns JSON on several lines; any other text unchanged. */
function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

function Text({ label, text }: { label: string; text: string }) {
  return (
    <pre className="source" tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  );
}
