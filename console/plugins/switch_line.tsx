import type { PluginConfigRow } from '../../server/api/plugin_configs/schema.ts';
import { Form } from '../form/form.tsx';
import { etagOf } from '../http/reading.ts';
import { useDone } from '../page/section.tsx';
import { Instant } from '../time/instant.tsx';
import { configPath, pluginConfigOf, pluginConfigs } from './plugins.ts';
import type { Place } from './plugins.ts';
import { switchState } from './switch_state.ts';

/** Shows whether the plugin runs in the project, since when not and why, with a switch. */
export function SwitchLine({
  config,
  place: { project_id },
  may_change,
}: {
  config: PluginConfigRow;
  place: Place;
  may_change: boolean;
}) {
  const done = useDone();
  const { enabled, error } = config;
  const { shape, word, tone, button } = switchState(config);
  return (
    <>
      <p>
        <span className={tone}>
          <span aria-hidden="true">{shape}</span> {word}
        </span>
        {error !== null && (
          <>
            {' '}
            since <Instant at={error.at} is_exact />: {error.message}
          </>
        )}
      </p>
      {may_change && (
        <Form
          method="PATCH"
          path={configPath(project_id, config.id)}
          part="switch"
          if_match={etagOf(config)}
          body={() => ({ enabled: !enabled })}
          done={() =>
            done(
              enabled ? 'It is off now.' : 'It is on now.',
              pluginConfigs(project_id),
              pluginConfigOf(project_id, config.id),
            )
          }
          button={button}
          tone="plain"
        />
      )}
    </>
  );
}
