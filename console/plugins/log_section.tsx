import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { pluginLogs } from './plugins.ts';
import type { LogLevel } from './plugins.ts';

const tones: Record<string, string> = { ERROR: 'bad', WARNING: 'warn' };

/** Shows the plugin's log in this project, newest first, live. */
export function LogSection({
  project_id,
  config_id,
  level,
  chosen,
}: {
  project_id: string;
  config_id: number;
  level: LogLevel | undefined;
  chosen: (search: { level?: LogLevel }) => void;
}) {
  const query = useQuery(pluginLogs(project_id, config_id, level));
  return (
    <Section title="Log" is_wide>
      <NativeSelect
        label="Level"
        maw={200}
        mb="sm"
        data={[{ value: '', label: 'All' }, 'DEBUG', 'INFO', 'WARNING', 'ERROR']}
        value={level ?? ''}
        onChange={({ currentTarget: { value } }) =>
          chosen(value === '' ? {} : { level: value as LogLevel })
        }
      />
      <Shown query={query}>
        {({ count, results }) => (
          <>
            {count === 0 && <p className="muted">No lines.</p>}
            <ol className="records">
              {results.map(({ timestamp, level: of, message }, index) => (
                <li key={`${timestamp} ${results.length - index}`}>
                  <p>
                    <span className={tones[of] ?? 'muted'}>{of}</span> {message}
                  </p>
                  <p className="muted">
                    <Instant at={timestamp} />
                  </p>
                </li>
              ))}
            </ol>
            {count > results.length && (
              <p className="muted">
                The newest {results.length} of {count} lines are shown.
              </p>
            )}
          </>
        )}
      </Shown>
    </Section>
  );
}
