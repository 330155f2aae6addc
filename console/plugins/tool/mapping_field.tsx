import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useContext, useId, useState } from 'react';
import type { ToolFile, ToolMapping } from '../../../server/api/plugins/schema.ts';
import { exampleEvents } from '../../events/events.ts';
import { examplesOf } from '../../events/examples.ts';
import { LongField } from '../../form/long_field.tsx';
import { Seldom } from '../../page/section.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { dated } from '../../time/words.ts';
import { pathsOf } from './event_paths.ts';
import { mappedHosts } from './mapping_hosts.ts';
import { mappingsText, readMappings, withOwnName } from './mapping_text.ts';
import { OneMapping } from './one_mapping.tsx';
import { usePreview } from './use_preview.ts';
import type { ToolPlace } from './use_preview.ts';

type Given = {
  tool: ToolFile;
  stored: string | undefined;
  place: ToolPlace;
  sends_dollar: boolean;
  /** Gets the hosts to which the mappings send. */
  reaches: (hosts: string[]) => void;
};

/** The mappings of a tool: presets to start with, a form for each, and the same as JSON. */
export function MappingField({ name, ...given }: Given & { name: string }) {
  const { tool, place } = given;
  const { text, mappings, put, change, resultOf, event, preview_with } = useMappings(given);
  const id = useId();
  const lists = { paths: `${id}paths`, values: `${id}values` };
  return (
    <div role="group" aria-label="Mappings" className="together">
      <h3>Mappings</h3>
      <p className="muted">
        A mapping says which events the tool gets, and what of them. A value is a text, a path such
        as <code>$.properties.price</code>, a text with <code>{'{{properties.price}}'}</code>, or
        JSON.
      </p>
      <Paths lists={lists} event={event} />
      {mappings !== undefined && <PreviewedEvent {...preview_with} />}
      {mappings?.map((mapping, at) => (
        <OneMapping
          key={at}
          mapping={mapping}
          tool={tool}
          place={place}
          result={resultOf(at)}
          lists={lists}
          change={(next) =>
            change(next === undefined ? mappings.toSpliced(at, 1) : mappings.toSpliced(at, 1, next))
          }
        />
      ))}
      {mappings !== undefined && (
        <AddMapping
          offered={[...tool.presets, ...tool.templates]}
          add={(one) => change([...mappings, withOwnName(one, mappings)])}
        />
      )}
      <Seldom summary="Edit the mappings as JSON" is_open={mappings === undefined}>
        <LongField name={name} label="Mappings as JSON" rows={16} value={text} onChange={put} />
      </Seldom>
    </div>
  );
}

/** The typed text of the mappings, with the preview of an event. */
function useMappings({ tool, stored, place, sends_dollar, reaches }: Given) {
  const { presets, templates } = tool;
  const first = presets.length === 0 ? templates.slice(0, 1) : presets;
  const [text, setText] = useState(stored ?? mappingsText(first));
  const mappings = readMappings(text);
  const { preview_with, ...previewed } = usePreviewed(place, mappings ?? [], sends_dollar);
  const put = (next: string) => {
    setText(next);
    reaches(mappedHosts(readMappings(next) ?? []));
  };
  return {
    text,
    mappings,
    put,
    change: (next: ToolMapping[]) => put(mappingsText(next)),
    ...previewed,
    preview_with,
  };
}

/** Previews a chosen event: one of the newest, or a sample. */
export function usePreviewed(
  place: ToolPlace,
  mappings: readonly ToolMapping[],
  sends_dollar: boolean,
) {
  const [chosen, choose] = useState<string>();
  const newest = examplesOf(useQuery(exampleEvents(place.project_id)).data?.results ?? []);
  const event_uuid = chosen ?? newest[0]?.uuid;
  const { previewed, fault } = usePreview(
    place,
    mappings,
    sends_dollar,
    event_uuid === '' ? undefined : event_uuid,
  );
  return {
    resultOf: (at: number) => {
      const [of, is] = [previewed?.of[at], previewed?.results[at]];
      return of === undefined || is === undefined ? undefined : { of, is };
    },
    event: previewed?.event,
    preview_with: { newest, event_uuid, choose, fault },
  };
}

/** A list of paths for the browser's completion, each with its value in the event. */
export function Paths({
  lists,
  event,
}: {
  lists: { paths: string; values: string };
  event: string | undefined;
}) {
  const paths = event === undefined ? [] : pathsOf(JSON.parse(event));
  return (
    <>
      <datalist id={lists.paths}>
        {paths.map(({ path, shown }) => (
          <option key={path} value={path}>
            {shown}
          </option>
        ))}
      </datalist>
      <datalist id={lists.values}>
        {paths.map(({ path, shown }) => (
          <option key={path} value={`$.${path}`}>
            {shown}
          </option>
        ))}
      </datalist>
    </>
  );
}

/** The event of the preview. */
export function PreviewedEvent({
  newest,
  event_uuid,
  choose,
  fault,
}: {
  newest: { uuid: string; event: string; distinct_id: string; timestamp: string }[];
  event_uuid: string | undefined;
  choose: (uuid: string) => void;
  fault: string | undefined;
}) {
  const zone = useContext(ZoneContext);
  return (
    <NativeSelect
      label="Preview with"
      error={fault}
      value={event_uuid ?? ''}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
      data={[
        ...newest.map(({ uuid, event, distinct_id, timestamp }) => ({
          value: uuid,
          label: `${event}, ${distinct_id}, ${dated(timestamp, zone)}`,
        })),
        { value: '', label: 'A sample event' },
      ]}
    />
  );
}

function AddMapping({
  offered,
  add,
}: {
  offered: ToolMapping[];
  add: (mapping: ToolMapping) => void;
}) {
  return (
    <NativeSelect
      label="Add a mapping"
      value=""
      maw={400}
      data={[
        { value: '', label: 'Choose a preset or an action' },
        ...offered.map(({ name: title, partnerAction }, at) => ({
          value: String(at),
          label: title ?? partnerAction,
        })),
      ]}
      onChange={({ currentTarget: { value } }) => {
        const preset = offered[Number(value)];
        if (value !== '' && preset !== undefined) add(preset);
      }}
    />
  );
}
