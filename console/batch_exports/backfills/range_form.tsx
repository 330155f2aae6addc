import { Button } from '@mantine/core';
import { useContext, useState } from 'react';
import { MomentInput, form_told } from '../../form/moment_input.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { fieldOf, typedAt } from '../../time/zone.ts';
import type { Span } from '../slots/boundaries.ts';

/** A form for the start and end of a range. */
export function RangeForm({
  of,
  selection,
  typed,
  choose,
}: {
  /** Identifies the selection: a new one replaces the typed text. */
  of: string;
  selection: Span | undefined;
  /** Called for each key: the range then differs from the selection. */
  typed: () => void;
  choose: (span: Span) => void;
}) {
  const zone = useContext(ZoneContext);
  const shown = {
    from: selection === undefined ? '' : fieldOf(selection.from, zone),
    to: selection === undefined ? '' : fieldOf(selection.to, zone),
  };
  const [state, setState] = useState({ of, ...shown, is_told: false });
  const texts = state.of === of ? state : { of, ...shown, is_told: false };
  // A selection on the map may be more precise than its text.
  const instantOf = (name: 'from' | 'to') =>
    texts[name] === shown[name] ? selection?.[name] : typedAt(texts[name], zone);
  const [from, to] = [instantOf('from'), instantOf('to')];
  const is_empty = from !== undefined && to !== undefined && from >= to;
  const field = (name: 'from' | 'to', label: string, fault: string | false) => (
    <MomentInput
      size="xs"
      label={`${label} (${zone})`}
      value={texts[name]}
      set={(text) => {
        setState({ ...texts, [name]: text, is_told: false });
        typed();
      }}
      error={texts.is_told && (texts[name] === '' ? form_told : fault)}
    />
  );
  return (
    <form
      className="filters"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (from === undefined || to === undefined || is_empty)
          setState({ ...texts, is_told: true });
        else choose({ from, to });
      }}
    >
      {field('from', 'From', false)}
      {field('to', 'Until', is_empty && 'This time must be after the start.')}
      <Button type="submit" size="xs">
        Count rows
      </Button>
    </form>
  );
}
