import { Alert, Skeleton } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { useContext } from 'react';
import type { ReactNode } from 'react';
import { isForPerson } from '../http/confirming.ts';
import { isOutage } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { AroundContext } from './around/around.ts';
import { BusyButton } from './busy_button.tsx';
import { Sentence } from './text/sentence.tsx';
import { WayOutContext } from './around/way_out.ts';

/**
 * Shows read data, or its state: a quiet placeholder during the first reading, the reason and a
 * button after a failure. If a later reading fails, the earlier data stays visible with a note. A
 * missing record is not read again: `missing` says where to go.
 */
export function Shown<Body>({
  query,
  missing = <NoSuch noun="record" />,
  children,
}: {
  query: Pick<UseQueryResult<Body>, 'data' | 'error' | 'refetch' | 'isFetching'>;
  missing?: ReactNode;
  children: (body: Body) => ReactNode;
}) {
  const { data, error, refetch, isFetching } = query;
  if (error?.status === 404) return missing;
  const again = (
    <BusyButton size="compact-sm" is_busy={isFetching} press={() => void refetch()}>
      Try again
    </BusyButton>
  );
  if (data === undefined)
    return error === null ? <Waiting /> : <Refusal problem={error}>{again}</Refusal>;
  return (
    <>
      <MayBeOld problem={error}>{again}</MayBeOld>
      {children(data)}
    </>
  );
}

/**
 * Says that the visible data could not be read again, and why. The frame reports an outage, once
 * for the whole page.
 */
export function MayBeOld({ problem, children }: { problem: Problem | null; children?: ReactNode }) {
  const is_told = useContext(AroundContext) !== 'nothing';
  if (problem === null || (is_told && isOutage(problem))) return undefined;
  return (
    <Refusal problem={problem} title="These values may be old">
      {children}
    </Refusal>
  );
}

/** Says that a record does not exist, with a link to the others. */
export function NoSuch({ noun, children }: { noun: string; children?: ReactNode }) {
  return (
    <div role="alert" className="panel">
      <p>There is no such {noun}: it was deleted, or you may not see it.</p>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

/**
 * Explains a failed reading or action: each reason with its part of the address or body, the
 * request id for support, and the remedy if there is one. A state that only waits for the person is
 * shown quietly.
 */
export function Refusal({
  problem,
  title = 'This could not be read',
  children,
}: {
  problem: Problem;
  title?: string;
  children?: ReactNode;
}) {
  const drawWayOut = useContext(WayOutContext);
  if (isForPerson(problem))
    return (
      <div role="alert" className="panel">
        <p>{problem.message}</p>
        {drawWayOut(problem)}
      </div>
    );
  return (
    <Alert color="red" title={title} role="alert" mb="md">
      {problem.violations.map(({ attr, detail }) => (
        <p key={`${attr} ${detail}`}>
          {attr !== null && (
            <>
              <code>{attr}</code>:{' '}
            </>
          )}
          <Sentence text={detail} />
        </p>
      ))}
      {drawWayOut(problem)}
      {problem.request_id !== undefined && (
        <p className="muted">
          Request id: <code>{problem.request_id}</code>
        </p>
      )}
      {children}
    </Alert>
  );
}

/** A quiet placeholder during the first reading. */
export function Waiting() {
  return (
    <div role="status" aria-label="Loading" className="loading">
      {[90, 75, 85, 60].map((width) => (
        <Skeleton key={width} height={14} width={`${width}%`} />
      ))}
    </div>
  );
}
