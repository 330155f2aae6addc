import { Autocomplete, Button } from '@mantine/core';
import { useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { counted } from '../../../page/text/quantities.ts';
import type { AskChoices, Offer } from './choices.ts';
import { matchingChoices } from './field_rules.ts';
import type { ToolChoice } from './field_rules.ts';
import './choices.css';

type Given = {
  label: string;
  description?: ReactNode;
  /** The name of the field for the tool. */
  field: string;
  asking: AskChoices;
  /** The value as a text. */
  text: string;
  put: (text: string) => void;
  /** Takes a value of the tool. */
  choose: (value: string) => void;
  /** The list of paths of the event, which browsers offer after a dollar sign. */
  paths_id?: string;
};

const shown_max = 100;

/** A text for which the tool offers values, by their names; it is asked when the list opens. */
export function ChoiceInput({ field, asking, text, put, choose, paths_id, ...named }: Given) {
  const { place, offer, waits, open, more } = useOffer(asking, field);
  const { choices = [], fault } = offer ?? {};
  const chosen = useRef<string>(undefined);
  const [isOpen, setOpen] = useState(false);
  const matching = matchingChoices(choices, text).slice(0, shown_max);
  const known = new Map(choices.map((one) => [one.value, one]));
  return (
    <div ref={place}>
      <Autocomplete
        {...named}
        error={fault}
        value={text}
        onChange={(next) => {
          // A choice is also told as a text.
          if (chosen.current !== next) put(next);
          chosen.current = undefined;
        }}
        onOptionSubmit={(value) => {
          chosen.current = value;
          choose(value);
        }}
        list={text.startsWith('$') ? paths_id : undefined}
        // A list without choices is none: it is neither drawn nor told of.
        dropdownOpened={isOpen && matching.length > 0}
        onDropdownOpen={() => {
          setOpen(true);
          if (!isOpen) open();
        }}
        onDropdownClose={() => setOpen(false)}
        onBlur={() => setOpen(false)}
        onClick={open}
        openOnFocus={false}
        data={matching.map(({ value }) => value)}
        filter={({ options }) => options}
        renderOption={({ option: { value } }) => <Choice {...known.get(value)!} />}
        rightSection={<span aria-hidden="true">▾</span>}
        rightSectionPointerEvents="none"
        withScrollArea={false}
        comboboxProps={{ withinPortal: false }}
        classNames={{ dropdown: 'choices' }}
        spellCheck={false}
      />
      <p role="status" className="muted choices_state">
        {statusOf(offer, waits, known.get(text)?.label)}
      </p>
      {offer !== undefined && offer.next_page !== null && (
        <Button variant="default" size="compact-sm" onClick={more}>
          Load more choices
        </Button>
      )}
    </div>
  );
}

/** Keeps the offer of the tool, and asks again if the question is another one. */
function useOffer(asking: AskChoices, field: string) {
  const place = useRef<HTMLDivElement>(null);
  const [offered, setOffered] = useState<{ key: string; offer: Offer }>();
  const [waits, setWaits] = useState(false);
  const asks = useRef(false);
  const load = async (key: string, form: HTMLFormElement, before?: Offer) => {
    setWaits((asks.current = true));
    const offer = await asking.offer(form, field, before?.next_page ?? undefined);
    setWaits((asks.current = false));
    const choices = [...(before?.choices ?? []), ...offer.choices];
    setOffered({ key, offer: { ...offer, choices } });
  };
  const withForm = (work: (form: HTMLFormElement, key: string) => void) => {
    const form = place.current?.closest('form');
    if (form && !asks.current) work(form, asking.keyOf(form, field));
  };
  const offer = offered?.offer;
  return {
    place,
    offer,
    waits,
    open: () =>
      withForm((form, key) => {
        if (key !== offered?.key || offer?.fault !== undefined) void load(key, form);
      }),
    more: () => withForm((form, key) => void load(key, form, offer)),
  };
}

function Choice({ value, label, description }: ToolChoice) {
  return (
    <span>
      <bdi>{label}</bdi>
      {label !== value && (
        <span className="muted">
          {' '}
          <bdi>{value}</bdi>
        </span>
      )}
      {description !== null && (
        <span className="muted">
          <br />
          <bdi>{description}</bdi>
        </span>
      )}
    </span>
  );
}

function statusOf(offer: Offer | undefined, waits: boolean, chosen: string | undefined) {
  if (waits) return 'Asking the tool ...';
  if (offer === undefined || offer.fault !== undefined) return '';
  const left_out = offer.omitted === 0 ? '' : `${counted(offer.omitted, 'choice')} left out. `;
  if (offer.choices.length === 0) return 'The tool offers none. Type the value.';
  return `${left_out}${chosen === undefined ? '' : `Chosen: ${chosen}`}`;
}
