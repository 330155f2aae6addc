import { Button, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import type { PluginRow } from '../../../server/api/plugins/schema.ts';
import { Form } from '../../form/form.tsx';
import { pathOf } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';
import { ManagedNote } from '../../configuration/managed_note.tsx';
import { Page } from '../../page/page.tsx';
import { Section, useDone } from '../../page/section.tsx';
import { Shown } from '../../page/shown.tsx';
import { OnlyFor, useIsAdministrator } from '../../signed_in/only_for.tsx';
import { InOrganization, NoSuchPlugin } from '../in_organization.tsx';
import { collectionOf, isOwnCode, pluginConfigs, readsOfPlugin, sourceOf } from '../plugins.ts';
import type { Place } from '../plugins.ts';
import { ApiPanel } from './api_panel.tsx';
import { useCheck } from './check.ts';
import { useDraft } from './draft.ts';
import type { Files } from './draft.ts';
import { placedFaults, thrownFaults } from './fault_place.ts';
import type { CodeFault } from './fault_place.ts';
import { FilesEditor } from './files_editor.tsx';
import { pluginApi } from './plugin_api.ts';
import { templateOf } from './templates.ts';
import { TryOut } from './try_out.tsx';
import '../../batch_exports/form/form.css';
import './editor.css';

const route = getRouteApi('/signed_in/projects/$project_id/plugins/$collection/$plugin_id/code');

/** The code of a plugin: read, change, try and save it. */
export function CodePage() {
  const { project_id } = route.useParams();
  return (
    <InOrganization project_id={project_id}>
      {(organization_id) => <OfOrganization organization_id={organization_id} />}
    </InOrganization>
  );
}

function OfOrganization({ organization_id }: { organization_id: string }) {
  const { project_id, plugin_id, collection: named } = route.useParams();
  const collection = collectionOf(named);
  const read = sourceOf(organization_id, collection, plugin_id);
  const query = useQuery(read);
  const name = query.data?.name ?? 'plugin';
  return (
    <Page title={`Code of ${name}`} request={pathOf(read)}>
      <p>
        <Link
          to="/projects/$project_id/plugins/$collection/$plugin_id"
          params={{ project_id, collection, plugin_id }}
        >
          Settings, log and versions of <bdi>{name}</bdi>
        </Link>
      </p>
      <Shown query={query} missing={<NoSuchPlugin project_id={project_id} />}>
        {({ source, ...plugin }) => (
          <>
            <ManagedNote by={plugin.managed_by} />
            <Code
              key={plugin.id}
              plugin={plugin}
              place={{ project_id, organization_id, collection }}
              stored={source}
            />
          </>
        )}
      </Shown>
    </Page>
  );
}

type Given = { plugin: PluginRow; place: Place; stored: Files };

function Code({ plugin, place, stored }: Given) {
  const { project_id, organization_id, collection } = place;
  const may_try = useIsAdministrator(organization_id);
  const may_change = may_try && isOwnCode(plugin);
  const draft = useDraft(plugin.id, stored);
  const files = may_change ? draft.files : stored;
  const has_files = Object.keys(files).length > 0;
  const checked = useCheck(project_id, collection, files, may_try && has_files);
  const [thrown, setThrown] = useState<CodeFault[]>([]);
  const faults = useMemo(
    () => [...placedFaults(checked?.problem?.violations ?? []), ...thrown],
    [checked, thrown],
  );
  const write = (next: Files) => {
    setThrown([]);
    draft.write(next);
  };
  const names = pluginApi(collection);
  return (
    <div className="code_columns">
      <Section title="Files" is_wide>
        {!isOwnCode(plugin) && (
          <p className="muted">These are the files of a package. You can read and try them.</p>
        )}
        <OnlyFor organization_id={organization_id} shows>
          {!has_files && may_change && (
            <Button onClick={() => write(templateOf(collection, plugin.name ?? 'Plugin'))}>
              Start from a template
            </Button>
          )}
          <FilesEditor {...{ files, faults, names }} write={may_change ? write : undefined} />
          <Unplaced checked={checked} />
          {may_change && has_files && <Save plugin={plugin} place={place} draft={draft} />}
        </OnlyFor>
      </Section>
      <Beside names={names}>
        {may_try && has_files && (
          <TryOut
            {...{ plugin, place, files, checked }}
            tried={(result) => setThrown(thrownFaults(result))}
          />
        )}
      </Beside>
    </div>
  );
}

/** Faults of the files without a position. */
function Unplaced({ checked }: { checked: ReturnType<typeof useCheck> }) {
  const unplaced = checked?.problem?.violations.filter(({ line }) => line === undefined) ?? [];
  return unplaced.map(({ detail }) => (
    <p key={detail} className="fault">
      {detail}
    </p>
  ));
}

/** The functions of the plugin API, beside the trial if there is one. */
function Beside({ names, children }: { names: ReturnType<typeof pluginApi>; children: ReactNode }) {
  const has_trial = children !== false;
  return (
    <Section title={has_trial ? 'Try and look up' : 'Look up'} is_wide>
      <Tabs defaultValue={has_trial ? 'try' : 'api'}>
        <Tabs.List>
          {has_trial && <Tabs.Tab value="try">Try it</Tabs.Tab>}
          <Tabs.Tab value="api">Functions</Tabs.Tab>
        </Tabs.List>
        {has_trial && <Tabs.Panel value="try">{children}</Tabs.Panel>}
        <Tabs.Panel value="api">
          <ApiPanel names={names} />
        </Tabs.Panel>
      </Tabs>
    </Section>
  );
}

function Save({
  plugin,
  place,
  draft,
}: Omit<Given, 'stored'> & { draft: ReturnType<typeof useDraft> }) {
  const { organization_id, project_id, collection } = place;
  const done = useDone();
  const configs = useQuery(pluginConfigs(project_id));
  const config = configs.data?.results.find((one) => one.plugin === plugin.id);
  return (
    <Form
      method="PUT"
      path={pathTo(`/api/organizations/:organization_id/${collection}/:id/update_source/`, {
        organization_id,
        id: plugin.id,
      })}
      part={null}
      body={() => ({ source: draft.files })}
      done={async () => {
        await done(
          config?.enabled === true
            ? 'The code was saved. Each project that uses the plugin runs it from its next call on.'
            : 'The code was saved.',
          ...readsOfPlugin(place, plugin.id, config?.id),
        );
        draft.forget();
      }}
      button="Save"
      beside={
        draft.is_changed && (
          <Button variant="subtle" onClick={draft.forget}>
            Discard changes
          </Button>
        )
      }
    >
      {draft.is_outdated && (
        <p className="warn">
          Somebody saved other code since you began. Saving replaces it; discard your changes to see
          it.
        </p>
      )}
      <p className="muted">{draft.is_changed ? 'Not saved yet.' : 'Everything is saved.'}</p>
    </Form>
  );
}
