import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ToolFile, ToolMapping } from '../../../server/api/plugins/schema.ts';
import { LongField } from '../../form/long_field.tsx';
import { Panel } from '../../page/panel.tsx';
import { Seldom } from '../../page/section.tsx';
import { mappingsText, readMappings, readValue, shownValue, withOwnName } from './mapping_text.ts';

/** The mappings of a tool: presets to begin with, a form for each, and the same as JSON. */
export function MappingField({
  name,
  tool,
  stored,
}: {
  name: string;
  tool: ToolFile;
  stored: string | undefined;
}) {
  const { presets, templates } = tool;
  const first = presets.length === 0 ? templates.slice(0, 1) : presets;
  const [text, setText] = useState(stored ?? mappingsText(first));
  const offered = [...presets, ...templates];
  const mappings = readMappings(text);
  const change = (next: ToolMapping[]) => setText(mappingsText(next));
  return (
    <div role="group" aria-label="Mappings" className="together">
      <h3>Mappings</h3>
      <p className="muted">
        A mapping says which events the tool gets, and what of them. A value is a text, a path such
        as <code>$.properties.price</code>, a text with <code>{'{{properties.price}}'}</code>, or
        JSON.
      </p>
      {mappings?.map((mapping, at) => (
        <OneMapping
          key={at}
          mapping={mapping}
          tool={tool}
          change={(next) =>
            change(next === undefined ? mappings.toSpliced(at, 1) : mappings.toSpliced(at, 1, next))
          }
        />
      ))}
      {mappings !== undefined && (
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
            if (value !== '' && preset !== undefined)
              change([...mappings, withOwnName(preset, mappings)]);
          }}
        />
      )}
      <Seldom summary="Edit the mappings as JSON" is_open={mappings === undefined}>
        <LongField name={name} label="Mappings as JSON" rows={16} value={text} onChange={setText} />
      </Seldom>
    </div>
  );
}

function OneMapping({
  mapping,
  tool,
  change,
}: {
  mapping: ToolMapping;
  tool: ToolFile;
  change: (next: ToolMapping | undefined) => void;
}) {
  const action = tool.actions[mapping.partnerAction];
  const fields = Object.entries(action?.fields ?? {}).filter(
    ([, { unsafe_hidden }]) => unsafe_hidden !== true,
  );
  const isShown = ([key, { required }]: (typeof fields)[number]) =>
    required === true || key in mapping.mapping;
  const put = (key: string, text: string) => {
    const { [key]: _before, ...others } = mapping.mapping;
    const value = readValue(text);
    change({ ...mapping, mapping: value === undefined ? others : { ...others, [key]: value } });
  };
  const row = ([key, { label, description, required }]: (typeof fields)[number]) => (
    <ValueInput
      key={key}
      label={`${label ?? key}${required === true ? ' (required)' : ''}`}
      hint={description}
      value={mapping.mapping[key]}
      change={(text) => put(key, text)}
    />
  );
  const others = fields.filter((field) => !isShown(field));
  const title = mapping.name ?? mapping.partnerAction;
  return (
    <Panel>
      <h4>
        <bdi>{title}</bdi>
      </h4>
      <p className="muted">
        {action?.description ?? `There is no action ${mapping.partnerAction}.`}
      </p>
      <div className="together">
        <NameAndFilter mapping={mapping} change={change} />
        {fields.filter(isShown).map(row)}
        {others.length > 0 && (
          <Seldom summary={`${others.length} more fields`}>{others.map(row)}</Seldom>
        )}
      </div>
      <Button
        variant="default"
        size="compact-sm"
        aria-label={`Remove this mapping: ${title}`}
        onClick={() => change(undefined)}
      >
        Remove this mapping
      </Button>
    </Panel>
  );
}

function NameAndFilter({
  mapping,
  change,
}: {
  mapping: ToolMapping;
  change: (next: ToolMapping) => void;
}) {
  return (
    <>
      <TextInput
        label="Name of the mapping"
        value={mapping.name ?? mapping.partnerAction}
        onChange={({ currentTarget }) => change({ ...mapping, name: currentTarget.value })}
      />
      <TextInput
        label="Events"
        description={'A filter, such as type = "track" and event = "Order Completed"'}
        value={mapping.subscribe}
        onChange={({ currentTarget }) => change({ ...mapping, subscribe: currentTarget.value })}
      />
    </>
  );
}

/** Holds what is typed: half a JSON is no value yet. */
function ValueInput({
  label,
  hint,
  value,
  change,
}: {
  label: string;
  hint: string | undefined;
  value: unknown;
  change: (text: string) => void;
}) {
  const shown = shownValue(value);
  const [typed, setTyped] = useState(shown);
  const text = shownValue(readValue(typed)) === shown ? typed : shown;
  return (
    <TextInput
      label={label}
      description={hint}
      value={text}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        change(currentTarget.value);
      }}
    />
  );
}
