import { useQuery } from '@tanstack/react-query';
import { Rows } from '../page/tables/rows.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Table } from '../page/tables/table.tsx';
import { Instant } from '../time/instant.tsx';
import { pluginMetrics } from './plugins.ts';

const operations = { sum: 'Sum', max: 'Largest', min: 'Smallest' } as const;

/** Shows the plugin's metrics in this project. */
export function MetricSection({
  project_id,
  config_id,
}: {
  project_id: string;
  config_id: number;
}) {
  const query = useQuery(pluginMetrics(project_id, config_id));
  return (
    <Section title="What it counted">
      <Shown query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <p className="muted">It has counted nothing yet.</p>
          ) : (
            <Rows columns={['Name', 'Value', 'How', 'Changed']}>
              {results.map(({ name, operation, value, updated_at }) => (
                <Table.Tr key={name}>
                  <Table.Th scope="row">
                    <bdi>{name}</bdi>
                  </Table.Th>
                  <Table.Td data-label="Value">{value.toLocaleString('en')}</Table.Td>
                  <Table.Td data-label="How">{operations[operation]}</Table.Td>
                  <Table.Td data-label="Changed">
                    <Instant at={updated_at} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )
        }
      </Shown>
    </Section>
  );
}
