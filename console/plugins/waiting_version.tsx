import type { PluginConfigRow } from '../../server/api/plugin_configs/schema.ts';
import { Form } from '../form/form.tsx';
import { etagOf } from '../http/reading.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { useDone } from '../page/section.tsx';
import { Instant } from '../time/instant.tsx';
import { pluginConfigOf, pluginConfigs } from './plugins.ts';
import type { Place } from './plugins.ts';
import { pathTo } from '../http/path.ts';

/**
 * Shows which version of another organization's plugin runs in this project, and offers the waiting
 * newer one; nothing for an own plugin.
 */
export function WaitingVersion({ config, place }: { config: PluginConfigRow; place: Place }) {
  const done = useDone();
  const { accepted_version: accepted, waiting_version: waiting, plugin_info } = config;
  if (accepted === null) return undefined;
  const owner = <bdi>{plugin_info.organization_name}</bdi>;
  if (waiting === null)
    return (
      <p className="muted">
        This project runs {nameOf(accepted)}. If {owner} changes the plugin, your version stays
        until you accept the new one.
      </p>
    );
  const has_new_code = waiting.content_sha256 !== accepted.content_sha256;
  return (
    <div className="note" role="note">
      <p>
        {owner} changed{' '}
        {has_new_code ? (
          <>
            the code of this plugin <Instant at={waiting.installed_at} />
          </>
        ) : (
          'the settings of this plugin'
        )}
        : {nameOf(waiting)} waits. This project keeps running {nameOf(accepted)} until you accept
        the new one. Accept it only if you trust {owner}: its code gets your events and your
        settings.
      </p>
      <OnlyFor organization_id={place.organization_id}>
        <Form
          path={pathTo('/api/projects/:project_id/plugin_configs/:id/accept_version/', {
            project_id: place.project_id,
            id: config.id,
          })}
          if_match={etagOf(config)}
          done={() =>
            done(
              `This project now runs ${nameOf(waiting)}.`,
              pluginConfigs(place.project_id),
              pluginConfigOf(place.project_id, config.id),
            )
          }
          button={waiting.tag === null ? 'Accept version' : `Accept version ${waiting.tag}`}
        />
      </OnlyFor>
    </div>
  );
}

/** Returns the name of a version for people: its tag, or the start of its hash. */
function nameOf({ tag, content_sha256 }: { tag: string | null; content_sha256: string }): string {
  return tag === null || tag === '' ? `the code ${content_sha256.slice(0, 8)}` : `version ${tag}`;
}
