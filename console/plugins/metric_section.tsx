import { useQuery } from '@tanstack/react-query';
import { Rows } from '../page/tables/rows.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
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
            <Rows
              rows={results}
              keyOf={({ name }) => name}
              columns={{
                Name: ({ name }) => <bdi>{name}</bdi>,
                Value: ({ value }) => value.toLocaleString('en'),
                How: ({ operation }) => operations[operation],
                Changed: ({ updated_at }) => <Instant at={updated_at} />,
              }}
            />
          )
        }
      </Shown>
    </Section>
  );
}
