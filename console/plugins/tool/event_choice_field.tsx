import { useId, useState } from 'react';
import { Seldom } from '../../page/section.tsx';
import { FilterInput } from './filter_input.tsx';
import { Paths, PreviewedEvent, usePreviewed } from './mapping_field.tsx';
import { PersonChoice, Preview } from './one_mapping.tsx';
import type { EventChoice } from './one_mapping.tsx';
import type { ToolPlace } from './use_preview.ts';

/** The filter of every event. */
const every_event = 'type != ""';

/** Returns true if the choice selects every event. */
function isEveryEvent({ subscribe, sample_percent, consent }: EventChoice): boolean {
  return subscribe === every_event && sample_percent === undefined && consent === undefined;
}

/** The events that a destination with its own code gets, with the result for an event. */
export function EventChoiceField({
  stored,
  place,
  choose,
}: {
  stored: EventChoice | null;
  place: ToolPlace;
  /** Gets the choice; null for all events. */
  choose: (choice: EventChoice | null) => void;
}) {
  const [choice, setChoice] = useState<EventChoice>(stored ?? { subscribe: every_event });
  const change = (next: EventChoice) => {
    setChoice(next);
    choose(isEveryEvent(next) ? null : next);
  };
  return (
    <Seldom summary="Filter: which events it gets" is_open={stored !== null} is_late>
      <Opened {...{ choice, change, place }} />
    </Seldom>
  );
}

function Opened({
  choice,
  change,
  place,
}: {
  choice: EventChoice;
  change: (next: EventChoice) => void;
  place: ToolPlace;
}) {
  const id = useId();
  const lists = { paths: `${id}paths`, values: `${id}values` };
  const mapping = { partnerAction: 'event', mapping: {}, ...choice };
  const { resultOf, event, preview_with } = usePreviewed(place, [mapping], false);
  const result = resultOf(0);
  const isOfText = result?.of.subscribe === choice.subscribe;
  return (
    <div role="group" aria-label="Filter" className="together">
      <Paths lists={lists} event={event} />
      <PreviewedEvent {...preview_with} />
      <FilterInput
        text={choice.subscribe}
        filter={isOfText ? result.is.filter : undefined}
        fault={isOfText ? result.is.filter_fault : null}
        paths_id={lists.paths}
        change={(subscribe) => change({ ...choice, subscribe })}
      />
      <PersonChoice mapping={choice} change={change} />
      {result !== undefined && <Preview result={{ ...result.is, fields: null }} />}
    </div>
  );
}
