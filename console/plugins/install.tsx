import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { Section, Seldom } from '../page/section.tsx';
import { pluginPath } from './plugins.ts';
import type { Collection } from './plugins.ts';

type Given = { project_id: string; organization_id: string; collection: Collection };

/** The ways to one more plugin: an address, the server's catalogue, code of one's own. */
export function Install(given: Given) {
  return (
    <Section title="Install another one">
      <Way {...given} type="custom" summary="From an address">
        <TextField
          name="url"
          label="Address"
          hint="An npm package, a GitHub or GitLab repository, or the https address of an archive."
          autoComplete="off"
          inputMode="url"
          is_unkept
        />
        <VersionField />
      </Way>
      <Way {...given} type="repository" summary="From the catalogue of this server">
        <TextField name="name" label="Name in the catalogue" autoComplete="off" inputMode="text" />
        <VersionField />
      </Way>
      <Way {...given} type="source" summary="Your own code">
        <TextField name="name" label="Name" autoComplete="off" />
      </Way>
    </Section>
  );
}

function Way({
  project_id,
  organization_id,
  collection,
  type,
  summary,
  children,
}: Given & { type: string; summary: string; children: ReactNode }) {
  const navigate = useNavigate();
  return (
    <Seldom summary={summary}>
      <Form<PluginRow>
        path={pluginPath(organization_id, collection)}
        body={(values) => ({ plugin_type: type, ...values })}
        done={({ id }) =>
          navigate({
            to: '/projects/$project_id/plugins/$collection/$plugin_id',
            params: { project_id, collection, plugin_id: String(id) },
          })
        }
        button={type === 'source' ? 'Begin' : 'Install'}
        about={summary.toLowerCase()}
        part={type}
      >
        {children}
      </Form>
    </Seldom>
  );
}

function VersionField() {
  return (
    <TextField
      name="tag"
      label="Version"
      hint="Empty: the newest."
      autoComplete="off"
      inputMode="text"
      is_optional
    />
  );
}
