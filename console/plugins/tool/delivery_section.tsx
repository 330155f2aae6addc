import { useQuery } from '@tanstack/react-query';
import { Form } from '../../form/form.tsx';
import { pathTo } from '../../http/path.ts';
import { reading } from '../../http/reading.ts';
import { Rows } from '../../page/rows.tsx';
import { Section, useDone } from '../../page/section.tsx';
import { Shown } from '../../page/shown.tsx';
import { Table } from '../../page/table.tsx';
import { Instant } from '../../time/instant.tsx';
import { pluginLogs, pluginMetrics } from '../plugins.ts';

type Given = { project_id: string; config_id: number };

const of = '/api/projects/:project_id/plugin_configs/:id/';

function deliveryOf({ project_id, config_id }: Given) {
  return reading(pathTo(`${of}delivery/`, { project_id, id: config_id }), { is_busy: () => true });
}

function setAsideOf({ project_id, config_id }: Given) {
  return reading(pathTo(`${of}set_aside/`, { project_id, id: config_id }, { limit: 50 }), {
    is_busy: () => true,
  });
}

/** Shows the progress of a tool, its counts, and the events that were set aside. */
export function DeliverySection(given: Given & { is_enabled: boolean; may_change: boolean }) {
  const query = useQuery(deliveryOf(given));
  const metrics = useQuery(pluginMetrics(given.project_id, given.config_id));
  const counted = (name: string) =>
    (metrics.data?.results.find((one) => one.name === name)?.value ?? 0).toLocaleString('en');
  return (
    <Section title="Delivery">
      <Shown query={query}>
        {({ delivered_until, retry_at, failures, set_aside }) => (
          <>
            <p>
              {delivered_until === null ? (
                'Nothing is delivered before it is switched on.'
              ) : (
                <>
                  Delivered all events stored before <Instant at={delivered_until} is_exact />.
                </>
              )}
              {retry_at !== null && (
                <>
                  {' '}
                  <span className="warn">
                    {failures} failures in a row. Next try at <Instant at={retry_at} is_exact />.
                  </span>
                </>
              )}
            </p>
            <dl className="differences">
              <Figure name="Delivered" text={counted('delivered')} />
              <Figure name="Retried" text={counted('retried')} />
              <Figure name="Set aside now" text={set_aside.toLocaleString('en')} />
            </dl>
            {set_aside > 0 && <SetAside {...given} />}
          </>
        )}
      </Shown>
    </Section>
  );
}

function Figure({ name, text }: { name: string; text: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </div>
  );
}

/** The events that the tool did not take, each with the reason. */
function SetAside({
  is_enabled,
  may_change,
  ...given
}: Given & { is_enabled: boolean; may_change: boolean }) {
  const query = useQuery(setAsideOf(given));
  const done = useDone();
  const { project_id, config_id } = given;
  return (
    <>
      <h3>Events that were set aside</h3>
      {may_change && is_enabled && (
        <Form
          path={pathTo(`${of}jobs/`, { project_id, id: config_id })}
          part="resend"
          body={() => ({ name: 'Resend', payload: {} })}
          done={() =>
            done(
              'Sluice sends them again. The log will have the result.',
              pluginLogs(project_id, config_id, undefined),
              setAsideOf(given),
            )
          }
          button="Send all again"
          tone="plain"
        />
      )}
      <Shown query={query}>
        {({ count, results }) => (
          <>
            <Rows columns={['Event', 'Mapping', 'Reason', 'Set aside']}>
              {results.map((row) => (
                <Table.Tr key={`${row.event_uuid} ${row.mapping}`}>
                  <Table.Th scope="row">
                    <bdi>{row.event}</bdi> of <bdi>{row.distinct_id}</bdi>
                  </Table.Th>
                  <Table.Td data-label="Mapping">{row.mapping}</Table.Td>
                  <Table.Td data-label="Reason" className="long">
                    {row.reason}
                  </Table.Td>
                  <Table.Td data-label="Set aside">
                    <Instant at={row.set_aside_at} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
            {count > results.length && (
              <p className="muted">
                The newest {results.length} of {count.toLocaleString('en')} are shown.
              </p>
            )}
          </>
        )}
      </Shown>
    </>
  );
}
