import { useQueryClient } from '@tanstack/react-query';
import type { Query, QueryClient } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { isOutage } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { BusyButton } from '../page/busy_button.tsx';
import { Refusal } from '../page/shown.tsx';
import { serverAway, watchServer } from './heartbeat.ts';

/**
 * Says once that the server does not answer and that the visible data may be old, within 3 s and
 * before the next request fails. Good states lose their colour meanwhile.
 */
export function Outage() {
  const queries = useQueryClient();
  const found = useSyncExternalStore(
    (tell) => queries.getQueryCache().subscribe(tell),
    () => findOutage(queries),
  );
  const away = useSyncExternalStore(watchServer, serverAway);
  const is_away = away !== undefined;
  useEffect(() => {
    if (is_away) return () => void queries.invalidateQueries({ refetchType: 'active' });
    return undefined;
  }, [is_away, queries]);
  const [is_asking, setAsking] = useState(false);
  const problem = found ?? away;
  if (problem === undefined) return undefined;
  const press = () => {
    setAsking(true);
    void queries
      .refetchQueries({ type: 'active', ...(found === undefined ? {} : { predicate: isHit }) })
      .finally(() => setAsking(false));
  };
  return (
    <div className="outage">
      <Refusal problem={problem} title="These values may be old">
        <BusyButton size="compact-sm" is_busy={is_asking} press={press}>
          Try again
        </BusyButton>
      </Refusal>
    </div>
  );
}

function findOutage(queries: QueryClient): Problem | undefined {
  const hit = queries.getQueryCache().findAll({ type: 'active', predicate: isHit });
  return hit.find(({ state }) => state.data !== undefined)?.state.error ?? undefined;
}

/** Returns true if a query failed because of an outage. */
function isHit({ state: { error } }: Pick<Query, 'state'>): boolean {
  return error !== null && isOutage(error);
}
