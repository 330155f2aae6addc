import { useQueryClient } from '@tanstack/react-query';
import type { Query, QueryClient } from '@tanstack/react-query';
import { useState, useSyncExternalStore } from 'react';
import { isOutage } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { BusyButton } from '../page/busy_button.tsx';
import { Refusal } from '../page/shown.tsx';

/** Says once that the server gives no answers, and that what is on the screen may be old by it. */
export function Outage() {
  const queries = useQueryClient();
  const problem = useSyncExternalStore(
    (tell) => queries.getQueryCache().subscribe(tell),
    () => findOutage(queries),
  );
  const [is_asking, setAsking] = useState(false);
  if (problem === undefined) return undefined;
  const press = () => {
    setAsking(true);
    void queries
      .refetchQueries({ type: 'active', predicate: isHit })
      .finally(() => setAsking(false));
  };
  return (
    <Refusal problem={problem} title="These values may be old">
      <BusyButton size="compact-sm" is_busy={is_asking} press={press}>
        Try again
      </BusyButton>
    </Refusal>
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
