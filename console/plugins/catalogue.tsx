import { useQuery } from '@tanstack/react-query';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { Form } from '../form/form.tsx';
import { Shown } from '../page/shown.tsx';
import { catalogue, pluginsPath } from './plugins.ts';
import type { Collection } from './plugins.ts';

/** Lists the catalogue of the collection, each entry with a button that installs it. */
export function Catalogue({
  organization_id,
  collection,
  installed,
}: {
  organization_id: string;
  collection: Collection;
  installed: (plugin: PluginRow) => unknown;
}) {
  const query = useQuery(catalogue(organization_id, collection));
  return (
    <Shown query={query}>
      {({ count, results }) => (
        <>
          {count === 0 && <p className="muted">The catalogue of this server has nothing here.</p>}
          <ul className="records">
            {results.map(({ name, description, url, maintainer }) => (
              <li key={name}>
                <div>
                  <p>
                    <bdi>{name}</bdi> <span className="muted">{maintainer}</span>
                  </p>
                  <p>{description}</p>
                  <p className="muted">{url}</p>
                </div>
                <Form
                  path={pluginsPath(organization_id, collection)}
                  body={() => ({ plugin_type: 'repository' as const, name })}
                  done={installed}
                  button="Install"
                  about={name}
                  tone="plain"
                />
              </li>
            ))}
          </ul>
        </>
      )}
    </Shown>
  );
}
