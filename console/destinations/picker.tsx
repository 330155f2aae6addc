import { Button, TextInput } from '@mantine/core';
import { useEffect, useId, useRef, useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import type { DestinationType } from '../../server/api/destinations/schema.ts';
import { useFault } from '../form/context.ts';
import { DestinationMark } from './mark.tsx';
import { tilesOf } from './tiles.ts';

type Given = {
  /** The field's name in the API. */
  name: string;
  types: readonly DestinationType[];
  /** The chosen type; undefined before a choice. */
  chosen: DestinationType | undefined;
  choose: (type: string) => void;
  hint?: string | undefined;
};

/**
 * Chooses a destination among grouped tiles: by pointer, by arrow keys, or by typing a part of its
 * name and Enter. The chosen one is shown alone, with a button to change it.
 */
export function DestinationPicker({ name, chosen, choose, ...given }: Given) {
  const [is_open, setOpen] = useState(false);
  const change = useRef<HTMLButtonElement>(null);
  const was_open = useRef(false);
  const is_choosing = chosen === undefined || is_open;
  useEffect(() => {
    // The pressed tile has disappeared.
    if (was_open.current && !is_choosing) change.current?.focus();
    was_open.current = is_choosing;
  }, [is_choosing]);
  return (
    <div className="picker" data-field={name}>
      {is_choosing ? (
        <Choosing
          {...given}
          name={name}
          is_again={is_open}
          chosen={chosen}
          choose={(type) => {
            setOpen(false);
            choose(type);
          }}
        />
      ) : (
        <Chosen name={name} type={chosen} hint={given.hint}>
          <Button ref={change} size="compact-sm" onClick={() => setOpen(true)}>
            Change destination
          </Button>
        </Chosen>
      )}
    </div>
  );
}

/** The chosen destination. */
function Chosen({
  name,
  type,
  hint,
  children,
}: {
  name: string;
  type: DestinationType;
  hint: string | undefined;
  children: ReactNode;
}) {
  const error = useFault(name);
  return (
    <>
      <p className="field_label">Destination</p>
      <div className="chosen_tile">
        <span data-group={type.group}>
          <DestinationMark type={type.type} />
        </span>
        <span>
          <strong>{type.label}</strong>
          <span className="muted">{type.about}</span>
        </span>
        {children}
      </div>
      {hint !== undefined && <p className="field_hint">{hint}</p>}
      <p className="fault">{error}</p>
    </>
  );
}

function Choosing({
  name,
  types,
  choose,
  is_again,
}: Given & { /** True if another one was chosen before. */ is_again: boolean }) {
  const error = useFault(name);
  const [wanted, setWanted] = useState('');
  const place = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const groups = tilesOf(types, wanted);
  const first = groups[0]?.types[0];
  useEffect(() => {
    // The pressed button has disappeared.
    if (is_again) search.current?.focus();
  }, [is_again]);
  const pick = (type: string) => {
    // A form clears a field's fault on its input event.
    place.current?.dispatchEvent(new Event('input', { bubbles: true }));
    choose(type);
  };
  const move = (event: KeyboardEvent) => moveBetween(event, place.current!);
  return (
    <div ref={place}>
      <TextInput
        ref={search}
        type="search"
        label="Destination"
        labelProps={{ className: 'field_label' }}
        placeholder="Search, such as Postgres or S3"
        autoComplete="off"
        withAsterisk
        error={error === false ? undefined : is_again ? error : 'Choose a destination.'}
        value={wanted}
        onChange={({ currentTarget }) => setWanted(currentTarget.value)}
        onKeyDown={(event) => {
          move(event);
          if (event.key !== 'Enter') return;
          event.preventDefault();
          if (first !== undefined && wanted.trim() !== '') pick(first.type);
        }}
        mb={10}
      />
      {groups.map((group) => (
        <Tiles key={group.group} {...group} pick={pick} move={move} />
      ))}
      <p role="status" className="muted">
        {groups.length === 0 && `No destination has the name “${wanted.trim()}”.`}
      </p>
    </div>
  );
}

/** The tiles of one group. */
function Tiles({
  group,
  types,
  pick,
  move,
}: ReturnType<typeof tilesOf>[number] & {
  pick: (type: string) => void;
  move: (event: KeyboardEvent) => void;
}) {
  const id = useId();
  return (
    <div role="group" aria-labelledby={id} data-group={group}>
      <p id={id} className="tile_group">
        {group}
      </p>
      <div className="tiles">
        {types.map(({ type, label, about }) => (
          <button
            key={type}
            type="button"
            className="tile"
            onClick={() => pick(type)}
            onKeyDown={move}
          >
            <DestinationMark type={type} />
            <span>
              <strong>{label}</strong>
              <span className="muted">{about}</span>
            </span>
          </button>
        ))}
      </div>
    </div>
  );
}

/** Moves the focus between the tiles, and from the search to them, with the arrow keys. */
function moveBetween(event: KeyboardEvent, place: HTMLElement): void {
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  const tiles = [...place.querySelectorAll<HTMLElement>('.tile')];
  const at = tiles.indexOf(document.activeElement as HTMLElement);
  // Left and right move within the search text.
  if (step === undefined || (at === -1 && event.key !== 'ArrowDown')) return;
  event.preventDefault();
  const next = at + step < 0 ? place.querySelector<HTMLElement>('input') : tiles[at + step];
  next?.focus();
}
