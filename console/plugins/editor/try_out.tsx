import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useContext, useState } from 'react';
import type { PluginConfigRow } from '../../../server/api/plugin_configs/schema.ts';
import type { PluginTryOutResult } from '../../../server/api/plugin_configs/try_out/schema.ts';
import type { PluginRow } from '../../../server/api/plugins/schema.ts';
import { exampleEvents } from '../../events/events.ts';
import { examplesOf } from '../../events/examples.ts';
import { BoxField, isTicked } from '../../form/box_field.tsx';
import { useFault } from '../../form/context.ts';
import { Form } from '../../form/form.tsx';
import { LongField } from '../../form/long_field.tsx';
import type { Values } from '../../form/values.ts';
import { dated } from '../../time/words.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { AttachmentInput } from '../attachment_input.tsx';
import { settingFields, settingsOf } from '../config_fields.ts';
import type { Attachment } from '../config_fields.ts';
import { pluginConfigs } from '../plugins.ts';
import type { Place } from '../plugins.ts';
import { SettingInput, useAsked } from '../setting_input.tsx';
import { tryOutPath } from './check.ts';
import type { Checked } from './check.ts';
import type { Files } from './draft.ts';
import { sample_event } from './templates.ts';
import { TryOutResult } from './try_out_result.tsx';

type Given = {
  plugin: PluginRow;
  place: Place;
  files: Files;
  checked: Checked | undefined;
  /** Gets the result of a trial. */
  tried: (result: PluginTryOutResult) => void;
};

/** Runs the files once with chosen settings and an event, and shows the result. */
export function TryOut(given: Given) {
  const configs = useQuery(pluginConfigs(given.place.project_id));
  if (given.place.collection === 'pipeline_frontend_apps')
    return (
      <p>
        A frontend app runs on web pages. Sluice compiles it and checks its plugin.json while you
        type. To see it, save it, switch it on, and open a page with the script of the project.
      </p>
    );
  if (configs.data === undefined) return undefined;
  const config = configs.data.results.find((one) => one.plugin === given.plugin.id);
  return <Trial {...given} config={config} />;
}

function Trial({
  plugin,
  place: { project_id, collection },
  files,
  checked,
  tried,
  config,
}: Given & { config: PluginConfigRow | undefined }) {
  const [last, setLast] = useState<{ result: PluginTryOutResult; turn: number }>();
  const [hosts, setHosts] = useState<string>();
  const [event, setEvent] = useState(JSON.stringify(sample_event, undefined, 2));
  const [chosen, choose] = useState<string>();
  const [attached, attach] = useState<Attachments>({});
  const config_schema = checked?.seen?.config_schema ?? plugin.config_schema;
  const allowed = hosts ?? (config?.allowed_hosts ?? hostsOf(config_schema)).join('\n');
  const is_import = collection === 'pipeline_import_apps';
  return (
    <>
      <Form
        path={tryOutPath(project_id)}
        part={`try ${plugin.id}`}
        body={(values: Values) => ({
          collection,
          source: files,
          config: textsOf(settingsOf(settingFields(config_schema), values, attached)),
          allowed_hosts: allowed.split(/[\s,]+/).filter((host) => host !== ''),
          sends: isTicked(values, 'sends'),
          ...(is_import ? taskOf(values) : eventOf(chosen, event)),
        })}
        done={(result) => {
          setLast((before) => ({ result, turn: (before?.turn ?? 0) + 1 }));
          tried(result);
        }}
        button="Run"
      >
        {is_import && <TaskField tasks={checked?.seen?.scheduled_tasks ?? []} />}
        {!is_import && <EventField {...{ project_id, chosen, choose, event, setEvent }} />}
        <Settings
          config_schema={config_schema}
          config={config}
          attach={(key, file) => attach((before) => ({ ...before, [key]: file }))}
        />
        <Reach allowed={allowed} change={setHosts} />
      </Form>
      {last !== undefined && (
        <TryOutResult
          key={last.turn}
          result={last.result}
          allow={(host) => setHosts(`${allowed}\n${host}`.trim())}
          take={(text) => {
            choose(undefined);
            setEvent(text);
          }}
        />
      )}
    </>
  );
}

/** Returns the chosen task; none before the code was checked. */
function taskOf(values: Values) {
  return { task: String(values['task'] ?? '') || undefined };
}

/** Returns a stored event by its uuid, or the typed one. */
function eventOf(chosen: string | undefined, typed: string) {
  return chosen === undefined ? { event: readEvent(typed) } : { event_uuid: chosen };
}

/** The hosts that a trial may reach, and whether it sends requests. */
function Reach({ allowed, change }: { allowed: string; change: (hosts: string) => void }) {
  return (
    <>
      <LongField
        name="allowed_hosts"
        label="Hosts that it may reach"
        hint="One per line."
        rows={2}
        value={allowed}
        onChange={change}
      />
      <BoxField
        name="sends"
        label="Send the requests"
        hint="If off, Sluice shows each request, and answers it with 200 and {}."
        is_on={false}
      />
    </>
  );
}

type Attachments = Record<string, Attachment | null | undefined>;

/** The settings of a trial, without stored secrets. */
function Settings({
  config_schema,
  config,
  attach,
}: {
  config_schema: unknown;
  config: PluginConfigRow | undefined;
  attach: (key: string, file: Attachments[string]) => void;
}) {
  const open_config = config === undefined ? undefined : { ...config, secret_keys: [] };
  const { asked, typed } = useAsked(settingFields(config_schema), open_config);
  const has_secrets = (config?.secret_keys.length ?? 0) > 0;
  return (
    <div className="together" onChange={typed} key={JSON.stringify(config_schema)}>
      {asked.map((field) =>
        field.type === 'attachment' ? (
          <AttachmentInput
            key={field.key}
            field={field}
            stored={undefined}
            choose={(file) => attach(field.key, file)}
          />
        ) : (
          <SettingInput key={field.key} field={field} config={open_config} />
        ),
      )}
      {has_secrets && (
        <p className="muted">Stored secrets are not used here. Enter a value to try it.</p>
      )}
    </div>
  );
}

function EventField({
  project_id,
  chosen,
  choose,
  event,
  setEvent,
}: {
  project_id: string;
  chosen: string | undefined;
  choose: (uuid: string | undefined) => void;
  event: string;
  setEvent: (text: string) => void;
}) {
  const newest = examplesOf(useQuery(exampleEvents(project_id)).data?.results ?? []);
  const zone = useContext(ZoneContext);
  const fault = useFault('event_uuid');
  return (
    <>
      <NativeSelect
        label="Event"
        error={fault}
        value={chosen ?? ''}
        onChange={({ currentTarget: { value } }) => choose(value === '' ? undefined : value)}
        data={[
          { value: '', label: 'A sample event' },
          ...newest.map(({ uuid, event: name, distinct_id, timestamp }) => ({
            value: uuid,
            label: `${name}, ${distinct_id}, ${dated(timestamp, zone)}`,
          })),
        ]}
      />
      {chosen === undefined && (
        <LongField name="event" label="Sample event" rows={8} value={event} onChange={setEvent} />
      )}
    </>
  );
}

function TaskField({ tasks }: { tasks: string[] }) {
  const fault = useFault('task');
  return <NativeSelect name="task" label="Task" error={fault} data={tasks} />;
}

/**
 * Reads the fields of a sent event; a text that is no JSON stays unchanged, and the API refuses it.
 */
function readEvent(text: string) {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return text as never;
  }
  const { event, distinct_id, uuid, timestamp, properties, person } = read as typeof sample_event &
    Partial<Record<'uuid' | 'timestamp', string>> & { person?: object };
  return { event, distinct_id, uuid, timestamp, properties, person };
}

/** A setting without a value is left out, because a trial removes nothing. */
function textsOf(settings: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
}

/** Returns the hosts of addresses in the settings' defaults, as a first proposal. */
function hostsOf(config_schema: unknown): string[] {
  return settingFields(config_schema).flatMap(({ initial }) => {
    const host = initial.includes('://') ? URL.parse(initial)?.hostname : undefined;
    return host === undefined ? [] : [host];
  });
}
