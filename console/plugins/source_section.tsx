import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { useIsAdministrator } from '../signed_in/only_for.tsx';
import { isOwnCode, sourceOf } from './plugins.ts';
import type { Place } from './plugins.ts';

/** Lists the files of the plugin, with a link to the page that shows, changes and tries them. */
export function SourceSection({ plugin, place }: { plugin: PluginRow; place: Place }) {
  const { organization_id, project_id, collection } = place;
  const plugin_id = String(plugin.id);
  const query = useQuery(sourceOf(organization_id, collection, plugin_id));
  const may_change = useIsAdministrator(organization_id) && isOwnCode(plugin);
  return (
    <Section title="Code">
      <Shown query={query}>
        {({ source }) => {
          const names = Object.keys(source);
          return <p>{names.length === 0 ? 'It has no code yet.' : names.join(', ')}</p>;
        }}
      </Shown>
      <p>
        <Link
          to="/projects/$project_id/plugins/$collection/$plugin_id/code"
          params={{ project_id, collection, plugin_id }}
        >
          {may_change ? 'Edit and try the code' : 'Read the code'}
        </Link>
      </p>
    </Section>
  );
}
