import { useQuery } from '@tanstack/react-query';
import { Suspense, lazy } from 'react';
import { StateMark } from '../../batch_exports/state_mark.tsx';
import { Figures } from '../../page/figures.tsx';
import { Section } from '../../page/section.tsx';
import { Shown } from '../../page/shown.tsx';
import { counted } from '../../page/text/quantities.ts';
import { Instant } from '../../time/instant.tsx';
import { pluginMetrics } from '../plugins.ts';
import { deliveryOf, stateOfDelivery } from './deliveries.ts';
import type { Given } from './deliveries.ts';
import { Replays } from './replays.tsx';
import { SetAside } from './set_aside.tsx';

// Loaded later, because the chart library is a tenth of the page's code.
const DeliveryCharts = lazy(async () => ({
  default: (await import('./delivery_charts.tsx')).DeliveryCharts,
}));

/** Shows the state of a tool and its charts, the events that were set aside, and the replays. */
export function DeliverySection({
  error,
  ...given
}: Given & { is_enabled: boolean; may_change: boolean; error: string | undefined }) {
  const query = useQuery(deliveryOf(given));
  const metrics = useQuery(pluginMetrics(given.project_id, given.config_id));
  // A destination with its own code only has charts.
  const figure = (label: string, name: string): [string, string][] => {
    const found = metrics.data?.results.find((one) => one.name === name);
    return found === undefined ? [] : [[label, found.value.toLocaleString('en')]];
  };
  return (
    <Section title="Delivery" is_wide>
      <Shown query={query}>
        {({ delivered_until, retry_at, failures, set_aside }) => (
          <>
            <p>
              <StateMark
                state={stateOfDelivery({ ...given, error, failures, retry_at, set_aside })}
              />{' '}
              {delivered_until === null ? (
                'Nothing is delivered before it is switched on.'
              ) : (
                <>
                  {set_aside === 0 ? 'Delivered' : 'Delivered or set aside'} all events stored
                  before <Instant at={delivered_until} is_exact />.
                </>
              )}
              {retry_at !== null && (
                <>
                  {' '}
                  <span className="warn">
                    {counted(failures ?? 0, 'failure')} in a row. Next try at{' '}
                    <Instant at={retry_at} is_exact />.
                  </span>
                </>
              )}
            </p>
            <Figures
              figures={[
                ...figure('Delivered', 'delivered'),
                ...figure('Retried', 'retried'),
                ['Set aside now', set_aside.toLocaleString('en')],
              ]}
            />
            <Suspense fallback={<div className="charts_room" />}>
              <DeliveryCharts {...given} />
            </Suspense>
            {set_aside > 0 && <SetAside {...given} />}
            {delivered_until !== null && <Replays {...given} />}
          </>
        )}
      </Shown>
    </Section>
  );
}
