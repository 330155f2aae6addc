import { Button, TextInput } from '@mantine/core';
import { useId, useRef, useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
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
  const matching = matchingChoices(choices, text).slice(0, shown_max);
  const list = useList(matching, open, choose);
  const { isShown, at, show, id } = list;
  return (
    <div ref={place} className="choice_input">
      <TextInput
        {...named}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={isShown ? id : undefined}
        aria-autocomplete="list"
        aria-activedescendant={isShown && at >= 0 ? `${id}${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        list={text.startsWith('$') ? paths_id : undefined}
        rightSection={<span aria-hidden="true">▾</span>}
        rightSectionPointerEvents="none"
        error={fault}
        value={text}
        onChange={({ currentTarget }) => {
          show();
          put(currentTarget.value);
        }}
        onClick={() => {
          show();
          open();
        }}
        onBlur={list.hide}
        onKeyDown={list.keys}
      />
      {isShown && <Choices {...list} choices={matching} />}
      <p role="status" className="muted choices_state">
        {statusOf(offer, waits, choices.find(({ value }) => value === text)?.label)}
      </p>
      {offer !== undefined && offer.next_page !== null && (
        <Button size="compact-sm" onClick={more}>
          Load more choices
        </Button>
      )}
    </div>
  );
}

/** The list below a field, through which the keys of the field walk. */
function useList(choices: ToolChoice[], open: () => void, choose: (value: string) => void) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const count = choices.length;
  const isShown = isOpen && count > 0;
  const show = () => {
    setOpen(true);
    setAt(-1);
  };
  const take = (value: string) => {
    setOpen(false);
    choose(value);
  };
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (isShown) return setAt(at < 0 && step < 0 ? count - 1 : (at + step + count) % count);
      show();
      open();
    } else if (event.key === 'Escape') setOpen(false);
    else if (event.key === 'Enter' && isShown && at >= 0) {
      event.preventDefault();
      take(choices[at]!.value);
    }
  };
  return { isShown, at, show, hide: () => setOpen(false), take, keys, id };
}

function Choices({
  choices,
  id,
  at,
  take,
}: {
  choices: ToolChoice[];
  id: string;
  at: number;
  take: (value: string) => void;
}) {
  return (
    <div role="listbox" id={id} className="choices" aria-label="Choices">
      {choices.map(({ value, label, description }, index) => (
        // The field has the focus all along; the keys are its.
        <button
          key={value}
          type="button"
          role="option"
          tabIndex={-1}
          id={`${id}${index}`}
          aria-selected={index === at}
          ref={(place) => {
            if (index === at) place?.scrollIntoView({ block: 'nearest' });
          }}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => take(value)}
        >
          <bdi>{label}</bdi>
          {label !== value && <bdi className="muted">{value}</bdi>}
          {description !== null && <bdi className="muted">{description}</bdi>}
        </button>
      ))}
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

function statusOf(offer: Offer | undefined, waits: boolean, chosen: string | undefined) {
  if (waits) return 'Asking the tool ...';
  if (offer === undefined || offer.fault !== undefined) return '';
  const left_out = offer.omitted === 0 ? '' : `${counted(offer.omitted, 'choice')} left out. `;
  if (offer.choices.length === 0) return 'The tool offers none. Type the value.';
  return `${left_out}${chosen === undefined ? '' : `Chosen: ${chosen}`}`;
}
