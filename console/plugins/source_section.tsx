import { FileInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { useFault } from '../form/context.ts';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import { OnlyFor, useIsAdministrator } from '../signed_in/only_for.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { readsOfPlugin, sourceOf } from './plugins.ts';
import type { Place } from './plugins.ts';
import { pathTo } from '../http/path.ts';

type Given = { plugin: PluginRow; place: Place; config_id: number | undefined };

/** The files of the plugin: each can be read, those of one's own code changed and sent. */
export function SourceSection({ plugin, place, config_id }: Given) {
  const { organization_id, collection } = place;
  const id = String(plugin.id);
  const read = sourceOf(organization_id, collection, id);
  const query = useQuery(read);
  const may_change = useIsAdministrator(organization_id);
  const isOwn = plugin.plugin_type === 'source' || plugin.plugin_type === 'inline';
  const given = {
    path: sourcePath(place, id),
    changed: readsOfPlugin(place, plugin.id, config_id),
  };
  return (
    <Section title="Code">
      <Shown query={query}>
        {({ source }) => (
          <>
            {Object.entries(source).map(([name, text]) => (
              <Seldom key={name} summary={name}>
                {isOwn && may_change ? (
                  <ChangeFile {...given} name={name} text={text} />
                ) : (
                  <pre className="source" tabIndex={0} role="region" aria-label={name}>
                    {text}
                  </pre>
                )}
              </Seldom>
            ))}
            {isOwn && (
              <OnlyFor organization_id={organization_id}>
                <SendFiles {...given} />
              </OnlyFor>
            )}
          </>
        )}
      </Shown>
    </Section>
  );
}

function sourcePath({ organization_id, collection }: Place, id: string) {
  return pathTo(`/api/organizations/:organization_id/${collection}/:id/update_source/`, {
    organization_id,
    id,
  });
}

type Sending = { path: ReturnType<typeof sourcePath>; changed: { queryKey: string[] }[] };

function ChangeFile({ path, changed, name, text }: Sending & { name: string; text: string }) {
  const done = useDone();
  return (
    <Form
      method="PATCH"
      path={path}
      body={({ source }) => ({ source: { [name]: String(source) } })}
      done={() => done(`${name} was compiled and saved.`, ...changed)}
      button="Save"
      about={name}
      part={name}
    >
      <LongField name="source" label={name} rows={16} defaultValue={text} />
    </Form>
  );
}

function SendFiles({ path, changed }: Sending) {
  const done = useDone();
  const [files, setFiles] = useState<Record<string, string>>({});
  return (
    <Form
      method="PATCH"
      path={path}
      body={() => ({ source: files })}
      done={() => done('The files were compiled and saved.', ...changed)}
      button="Send the files"
      tone="plain"
    >
      <FilesField
        chosen={async (list) => {
          const read = await Promise.all(
            list.map(async (file) => [file.name, await file.text()] as const),
          );
          setFiles(Object.fromEntries(read));
        }}
      />
    </Form>
  );
}

function FilesField({ chosen }: { chosen: (files: File[]) => Promise<void> }) {
  const error = useFault('source');
  return (
    <FileInput
      label="Files"
      description="index.ts or index.js, and plugin.json; files of other names stay."
      placeholder="Choose files"
      error={error}
      multiple
      onChange={(files) => void chosen(files)}
    />
  );
}
