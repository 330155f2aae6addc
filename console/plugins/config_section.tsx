import { useEffect, useState } from 'react';
import type { PluginConfigRow } from '../../server/api/plugin_configs/schema.ts';
import type { PluginRow, ToolFile } from '../../server/api/plugins/schema.ts';
import { BoxField, isTicked } from '../form/box_field.tsx';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { LongField } from '../form/long_field.tsx';
import { numberOf, readValues } from '../form/values.ts';
import type { Values } from '../form/values.ts';
import { etagOf } from '../http/reading.ts';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { OnlyFor, useIsAdministrator } from '../signed_in/only_for.tsx';
import { Section, Seldom, begun, useDone } from '../page/section.tsx';
import { AttachmentInput } from './attachment_input.tsx';
import { settingFields, settingsOf } from './config_fields.ts';
import type { Attachment, SettingField } from './config_fields.ts';
import { configPath, pluginConfigOf, pluginConfigs, runIn } from './plugins.ts';
import type { Place } from './plugins.ts';
import { SettingInput, useAsked } from './setting_input.tsx';
import { SwitchLine } from './switch_line.tsx';
import { EventChoiceField } from './tool/event_choice_field.tsx';
import type { EventChoice } from './tool/one_mapping.tsx';
import { isTool, useTool } from './tool/tool_source.ts';
import type { ToolPlace } from './tool/use_preview.ts';
import { WaitingVersion } from './waiting_version.tsx';
import { pathTo } from '../http/path.ts';

type Given = { plugin: PluginRow; place: Place };

/** Shows the plugin's settings in this project; undefined if the project does not use it. */
export function ConfigSection({
  config,
  ...given
}: Given & { config: PluginConfigRow | undefined }) {
  return (
    <Section title="In this project">
      <OnlyFor organization_id={given.place.organization_id} shows={config !== undefined}>
        {config === undefined ? (
          <ConfigForm {...given} config={undefined} />
        ) : (
          <Stored {...given} config={config} />
        )}
      </OnlyFor>
    </Section>
  );
}

function Stored({ config, ...given }: Given & { config: PluginConfigRow }) {
  const may_change = useIsAdministrator(given.place.organization_id);
  const failed_at = config.error?.at;
  useEffect(() => {
    // The message about the last change does not apply to later events.
    if (failed_at !== undefined) begun();
  }, [failed_at]);
  return (
    <>
      <SwitchLine config={config} place={given.place} may_change={may_change} />
      <WaitingVersion config={config} place={given.place} />
      <ManagedNote by={config.managed_by} />
      <ConfigForm {...given} config={config} />
      {may_change && (
        <Seldom summary="Remove it from this project">
          <RemoveConfig {...given} config={config} />
        </Seldom>
      )}
    </>
  );
}

function ConfigForm({ plugin, place, config }: Given & { config: PluginConfigRow | undefined }) {
  const { tool, is_read } = useTool(plugin, place);
  // Typed text must stay when the presets arrive.
  return is_read && <Fields {...{ plugin, place, config, tool }} />;
}

function Fields({
  plugin,
  place,
  config,
  tool,
}: Given & { config: PluginConfigRow | undefined; tool: ToolFile | undefined }) {
  const done = useDone();
  const { project_id } = place;
  const { config_schema } = runIn(plugin, config);
  const fields = settingFields(config_schema);
  const { asked, typed, valueOf } = useAsked(fields, config);
  const { hosts, setHosts, reaches } = useHosts(config?.allowed_hosts ?? tool?.hosts ?? []);
  const [files, setFiles] = useState<Record<string, Attachment | null | undefined>>({});
  const [saves, setSaves] = useState(0);
  const choice = useEventChoice(plugin, place, config);
  const of_tool = tool && {
    tool,
    place: toolPlace({ plugin, place }, config, asked, wordsOf(hosts)),
    sends_dollar: valueOf('dollar_properties') === 'send',
    reaches,
  };
  const changed = config === undefined ? [] : [pluginConfigOf(project_id, config.id)];
  return (
    <Form
      key={JSON.stringify(config_schema)}
      method={config === undefined ? 'POST' : 'PATCH'}
      path={savedAt(project_id, config)}
      part={String(plugin.id)}
      if_match={etagOf(config)}
      body={(values) => ({
        ...(config === undefined
          ? { plugin: plugin.id, enabled: isTicked(values, 'enabled') }
          : {}),
        ...(values['order'] === undefined ? {} : { order: numberOf(String(values['order'])) }),
        allowed_hosts: wordsOf(values['allowed_hosts']),
        config: settingsOf(asked, values, files),
        ...choice.sent,
      })}
      done={async () => {
        setFiles({});
        setSaves((before) => before + 1);
        await done('The settings were saved.', pluginConfigs(project_id), ...changed);
      }}
      button="Save the settings"
    >
      <div className="together" onChange={typed}>
        <Settings
          {...{ asked, config, saves, tool: of_tool }}
          choose={(key, file) => setFiles((before) => ({ ...before, [key]: file }))}
        />
      </div>
      {choice.input}
      <CommonFields {...{ config, hosts, setHosts }} is_tool={tool !== undefined} />
    </Form>
  );
}

/** The allowed hosts as typed; before that `known`, and the hosts in the mappings. */
function useHosts(known: string[]) {
  const [reached, reaches] = useState<string[]>([]);
  const [typed, setHosts] = useState<string>();
  return { hosts: typed ?? [...new Set([...known, ...reached])].join('\n'), setHosts, reaches };
}

/** The tool for its mappings, and what reads its settings as they are typed, without these. */
function toolPlace(
  { plugin, place: { project_id } }: Given,
  config: PluginConfigRow | undefined,
  asked: SettingField[],
  allowed_hosts: string[],
): ToolPlace {
  const fields = asked.filter(({ key }) => key !== 'mappings');
  const settings = (form: HTMLFormElement) => {
    const values = readValues(form);
    return {
      config: settingsOf(fields, values),
      allowed_hosts: wordsOf(values['allowed_hosts']),
    };
  };
  return { project_id, plugin_id: plugin.id, config_id: config?.id, allowed_hosts, settings };
}

/** Returns the path that saves the settings. */
function savedAt(project_id: string, config: PluginConfigRow | undefined) {
  return config === undefined
    ? pathTo('/api/projects/:project_id/plugin_configs/', { project_id })
    : configPath(project_id, config.id);
}

/** The stored event choice of a destination with its own code, and the typed one. */
function useEventChoice(
  plugin: PluginRow,
  { project_id, collection }: Place,
  config: PluginConfigRow | undefined,
) {
  const [choice, choose] = useState<EventChoice | null>();
  const has_choice = collection === 'pipeline_destinations' && !isTool(plugin);
  return {
    sent: choice === undefined ? {} : { event_choice: choice },
    input: has_choice && (
      <EventChoiceField
        stored={config?.event_choice ?? null}
        place={{ project_id, plugin_id: plugin.id }}
        choose={choose}
      />
    ),
  };
}

function Settings({
  asked,
  config,
  tool,
  saves,
  choose,
}: {
  asked: SettingField[];
  config: PluginConfigRow | undefined;
  tool: Parameters<typeof SettingInput>[0]['tool'];
  /** Number of times that the form was saved. */
  saves: number;
  choose: (key: string, file: Attachment | null | undefined) => void;
}) {
  return asked.map((field) =>
    field.type === 'attachment' ? (
      <AttachmentInput
        // The chosen file is stored now, so the choice ends.
        key={`${field.key} ${saves}`}
        field={field}
        stored={config?.config[field.key]}
        choose={(file) => choose(field.key, file)}
      />
    ) : (
      <SettingInput key={field.key} {...{ field, config, tool }} />
    ),
  );
}

/** Fields of every plugin. */
function CommonFields({
  config,
  is_tool,
  hosts,
  setHosts,
}: {
  config: PluginConfigRow | undefined;
  is_tool: boolean;
  /** The stored hosts, or the proposed ones for a new config, and those in the mappings. */
  hosts: string;
  setHosts: (typed: string) => void;
}) {
  return (
    <>
      <LongField
        name="allowed_hosts"
        label="Hosts that it may reach"
        hint="One per line. The plugin reaches only these hosts."
        rows={2}
        value={hosts}
        onChange={setHosts}
      />
      {!is_tool && (
        <TextField
          name="order"
          label="Order"
          hint="Plugins with lower numbers run first."
          inputMode="numeric"
          value={String(config?.order ?? 0)}
        />
      )}
      {config === undefined && (
        <BoxField
          name="enabled"
          label="Switched on"
          hint="It gets every new event."
          is_on={is_tool}
        />
      )}
    </>
  );
}

function RemoveConfig({
  plugin,
  place: { project_id },
  config,
}: Given & { config: PluginConfigRow }) {
  const done = useDone();
  return (
    <TypedForm
      name={plugin.name ?? String(plugin.id)}
      text={
        'Sluice deletes its settings in this project, its stored data and its log. ' +
        'The plugin stays installed.'
      }
      path={configPath(project_id, config.id)}
      if_match={etagOf(config)}
      done={() => done('This project no longer uses the plugin.', pluginConfigs(project_id))}
      button="Take it out"
    />
  );
}

function wordsOf(value: Values[string] | undefined): string[] {
  return String(value ?? '')
    .split(/[\s,]+/)
    .filter((word) => word !== '');
}
