import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { ask } from '../http/ask.ts';
import { pathTo } from '../http/path.ts';
import { OnlyFor, useIsAdministrator } from '../signed_in/only_for.tsx';
import { Section, Seldom } from '../page/section.tsx';
import { Catalogue } from './catalogue.tsx';
import { templateOf } from './editor/templates.ts';
import { pluginsPath } from './plugins.ts';
import type { Collection } from './plugins.ts';

type Given = { project_id: string; organization_id: string; collection: Collection };

/** The ways to install a plugin: the server's catalogue, an address, a folder, your own code. */
export function Install(given: Given) {
  const { organization_id } = given;
  const installed = useInstalled(given);
  return (
    <>
      <Section title="Catalogue" is_wide>
        <OnlyFor organization_id={organization_id} what="can install plugins" shows>
          <Catalogue {...given} installed={installed} />
        </OnlyFor>
      </Section>
      {useIsAdministrator(organization_id) && <OtherWays {...given} />}
    </>
  );
}

function OtherWays(given: Given) {
  return (
    <Section title="Not in the catalogue">
      <Way {...given} type="custom" summary="From an address">
        <TextField
          name="url"
          label="Address"
          hint={
            'An npm package, a GitHub or GitLab repository, or the https address of an archive.'
          }
          inputMode="url"
          is_unkept
        />
        <TextField
          name="tag"
          label="Version"
          hint="Empty: the newest."
          inputMode="text"
          is_optional
        />
      </Way>
      <Way {...given} type="local" summary="From the plugin folder of the server">
        <TextField name="name" label="Folder name" inputMode="text" />
      </Way>
      <OwnCode {...given} />
    </Section>
  );
}

/** Opens the installed plugin. */
function useInstalled({ project_id, collection }: Given): (plugin: PluginRow) => Promise<void> {
  const navigate = useNavigate();
  return ({ id }) =>
    navigate({
      to: '/projects/$project_id/plugins/$collection/$plugin_id',
      params: { project_id, collection, plugin_id: String(id) },
    });
}

/** Creates a plugin with the code of a template, and opens its editor. */
function OwnCode({ project_id, organization_id, collection }: Given) {
  const navigate = useNavigate();
  return (
    <Seldom summary="Your own code">
      <p>It starts with a template that works. An editor opens next.</p>
      <Form
        path={pluginsPath(organization_id, collection)}
        body={({ name }) => ({ plugin_type: 'source' as const, name })}
        done={async ({ id, name }) => {
          const path = pathTo(
            `/api/organizations/:organization_id/${collection}/:id/update_source/`,
            { organization_id, id },
          );
          // If the answer is lost, the editor offers the template again.
          await ask('PUT', path, { body: { source: templateOf(collection, name ?? 'Plugin') } });
          await navigate({
            to: '/projects/$project_id/plugins/$collection/$plugin_id/code',
            params: { project_id, collection, plugin_id: String(id) },
          });
        }}
        button="Create plugin"
        part="source"
      >
        <TextField name="name" label="Name" />
      </Form>
    </Seldom>
  );
}

function Way({
  type,
  summary,
  children,
  ...given
}: Given & { type: 'custom' | 'local'; summary: string; children: ReactNode }) {
  const installed = useInstalled(given);
  return (
    <Seldom summary={summary}>
      <Form
        path={pluginsPath(given.organization_id, given.collection)}
        body={({ name, url, tag }) => ({ plugin_type: type, name, url, tag })}
        done={installed}
        button="Install"
        about={summary.toLowerCase()}
        part={type}
      >
        {children}
      </Form>
    </Seldom>
  );
}
