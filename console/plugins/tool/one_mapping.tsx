import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { MappingPreviews } from '../../../server/api/plugin_configs/preview/schema.ts';
import type { ToolFile, ToolMapping } from '../../../server/api/plugins/schema.ts';
import { Linked } from '../../page/text/linked.tsx';
import { Panel } from '../../page/panel.tsx';
import { counted } from '../../page/text/quantities.ts';
import { Seldom } from '../../page/section.tsx';
import { choicesFor } from './fields/choices.ts';
import { FieldInput } from './fields/field_input.tsx';
import { isAsked, labelOf } from './fields/field_rules.ts';
import { FilterInput } from './filter_input.tsx';
import { previewState, previewText } from './use_preview.ts';
import type { ToolPlace } from './use_preview.ts';

type Result = MappingPreviews['results'][number];
type Change = (next: ToolMapping | undefined) => void;
/** The events that a mapping or a destination with its own code selects. */
export type EventChoice = Pick<ToolMapping, 'subscribe' | 'sample_percent' | 'consent'>;

/** A mapping: its events, its fields, and the result for an event. */
export function OneMapping({
  mapping,
  tool,
  place,
  result,
  lists,
  change,
}: {
  mapping: ToolMapping;
  tool: ToolFile;
  place: ToolPlace;
  /** The result for this mapping, or for the one before the last key press. */
  result: { of: ToolMapping; is: Result } | undefined;
  lists: { paths: string; values: string };
  change: Change;
}) {
  const action = tool.actions[mapping.partnerAction];
  const title = mapping.name ?? mapping.partnerAction;
  const isOfText = result?.of.subscribe === mapping.subscribe;
  return (
    <Panel>
      <h4>
        <bdi>{title}</bdi>
      </h4>
      <p className="muted">
        <Linked
          text={action?.description ?? `The action ${mapping.partnerAction} does not exist.`}
        />
      </p>
      <div className="together">
        <TextInput
          label="Name of the mapping"
          value={title}
          onChange={({ currentTarget }) => change({ ...mapping, name: currentTarget.value })}
        />
        <FilterInput
          text={mapping.subscribe}
          filter={isOfText ? result.is.filter : undefined}
          fault={isOfText ? result.is.filter_fault : null}
          paths_id={lists.paths}
          change={(subscribe) => change({ ...mapping, subscribe })}
        />
        <Fields {...{ mapping, tool, place, change }} values_id={lists.values} />
        <PersonChoice mapping={mapping} change={change} />
        {result !== undefined && <Preview result={result.is} of={title} />}
      </div>
      <Button
        size="compact-sm"
        mt="sm"
        aria-label={`Remove this mapping: ${title}`}
        onClick={() => change(undefined)}
      >
        Remove this mapping
      </Button>
    </Panel>
  );
}

function Fields({
  mapping,
  tool,
  place,
  values_id,
  change,
}: {
  mapping: ToolMapping;
  tool: ToolFile;
  place: ToolPlace;
  values_id: string;
  change: Change;
}) {
  const values = mapping.mapping;
  // A field that was just emptied stays visible.
  const [begun] = useState(() => new Set(Object.keys(values)));
  const fields = Object.entries(tool.actions[mapping.partnerAction]?.fields ?? {}).filter(
    ([, field]) => field.unsafe_hidden !== true && isAsked(field, values),
  );
  const asking = choicesFor(place, mapping);
  const isFirst = ([key, { required }]: (typeof fields)[number]) =>
    required === true || begun.has(key);
  const put = (key: string, value: unknown) => {
    const { [key]: _before, ...others } = values;
    change({ ...mapping, mapping: value === undefined ? others : { ...others, [key]: value } });
  };
  const input = ([key, field]: (typeof fields)[number]) => (
    <FieldInput
      key={key}
      path={key}
      label={labelOf(key, field)}
      field={field}
      value={values[key]}
      paths_id={values_id}
      asking={asking}
      change={(value) => put(key, value)}
    />
  );
  const more = fields.filter((field) => !isFirst(field));
  return (
    <>
      {fields.filter(isFirst).map(input)}
      {more.length > 0 && (
        <Seldom summary={counted(more.length, 'more field')}>{more.map(input)}</Seldom>
      )}
    </>
  );
}

/** The choice of persons: a share, and those who consented. */
export function PersonChoice<Chosen extends EventChoice>({
  mapping,
  change,
}: {
  mapping: Chosen;
  change: (next: Chosen) => void;
}) {
  const { consent, sample_percent, ...others } = mapping;
  const [typed, setTyped] = useState(String(sample_percent ?? ''));
  const put = (percent: number | undefined, category: string | undefined) =>
    change({
      ...others,
      ...(percent === undefined ? {} : { sample_percent: percent }),
      ...(category === undefined ? {} : { consent: category }),
    } as Chosen);
  return (
    <Seldom
      summary="Consent and sample"
      is_open={consent !== undefined || sample_percent !== undefined}
    >
      <div className="together">
        <TextInput
          label="Category of consent"
          description={
            'If set, an event is only sent if context.consent.categoryPreferences is true ' +
            'under this name. If empty, consent is not checked.'
          }
          value={consent ?? ''}
          onChange={({ currentTarget: { value } }) =>
            put(sample_percent, value === '' ? undefined : value)
          }
        />
        <TextInput
          label="Share of persons in percent"
          description="Always the same persons. Empty: all."
          inputMode="decimal"
          value={typed}
          onChange={({ currentTarget: { value } }) => {
            setTyped(value);
            const percent = Number(value);
            put(value.trim() === '' || Number.isNaN(percent) ? undefined : percent, consent);
          }}
        />
      </div>
    </Seldom>
  );
}

/** The result of the event, with the request. */
export function Preview({ result, of = '' }: { result: Result; of?: string }) {
  const { shape, word, tone } = previewState(result);
  const text = previewText(result);
  return (
    <div role="group" aria-label="Preview">
      <p role="status">
        <span className={tone}>
          <span aria-hidden="true">{shape}</span> {word}
        </span>
        {result.reason !== null && `: ${result.reason}`}
      </p>
      {text !== '' && (
        <pre
          className="source"
          tabIndex={0}
          role="region"
          aria-label={`What would be sent ${of}`.trim()}
        >
          {text}
        </pre>
      )}
    </div>
  );
}
