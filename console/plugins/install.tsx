import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Section, Seldom } from '../page/section.tsx';
import { Catalogue } from './catalogue.tsx';
import { pluginsPath } from './plugins.ts';
import type { Collection } from './plugins.ts';

type Given = { project_id: string; organization_id: string; collection: Collection };

/** The ways to one more plugin: the server's catalogue, an address, a folder, code of one's own. */
export function Install({
  is_first,
  ...given
}: Given & {
  /** True without another plugin: then the catalogue is open. */
  is_first: boolean;
}) {
  return (
    <Section title="Install a plugin">
      <OnlyFor organization_id={given.organization_id} what="Plugins are installed">
        <Seldom summary="From the catalogue of this server" is_open={is_first}>
          <Catalogue {...given} installed={useInstalled(given)} />
        </Seldom>
        <Way {...given} type="custom" summary="From an address">
          <TextField
            name="url"
            label="Address"
            hint={
              'An npm package, a GitHub or GitLab repository, or the https address of an archive.'
            }
            autoComplete="off"
            inputMode="url"
            is_unkept
          />
          <TextField
            name="tag"
            label="Version"
            hint="Empty: the newest."
            autoComplete="off"
            inputMode="text"
            is_optional
          />
        </Way>
        <Way {...given} type="local" summary="From the plugin folder of the server">
          <TextField name="name" label="Folder name" autoComplete="off" inputMode="text" />
        </Way>
        <Way {...given} type="source" summary="Your own code">
          <TextField name="name" label="Name" autoComplete="off" />
        </Way>
      </OnlyFor>
    </Section>
  );
}

/** Leads to the plugin that was installed. */
function useInstalled({ project_id, collection }: Given): (plugin: PluginRow) => Promise<void> {
  const navigate = useNavigate();
  return ({ id }) =>
    navigate({
      to: '/projects/$project_id/plugins/$collection/$plugin_id',
      params: { project_id, collection, plugin_id: String(id) },
    });
}

function Way({
  type,
  summary,
  children,
  ...given
}: Given & { type: 'custom' | 'local' | 'source'; summary: string; children: ReactNode }) {
  const installed = useInstalled(given);
  return (
    <Seldom summary={summary}>
      <Form
        path={pluginsPath(given.organization_id, given.collection)}
        body={({ name, url, tag }) => ({ plugin_type: type, name, url, tag })}
        done={installed}
        button={type === 'source' ? 'Begin' : 'Install'}
        about={summary.toLowerCase()}
        part={type}
      >
        {children}
      </Form>
    </Seldom>
  );
}
