import { Checkbox, TextInput } from '@mantine/core';
import { useState } from 'react';

/** Longer lists can be searched. */
const unsearched_max = 20;
const shown_max = 12;

/**
 * A checkbox for each option. Of many, it shows the first matches of the search, and the ticked
 * ones: `data-far` marks the others, which the style hides unless they are ticked.
 */
export function Boxes({
  name,
  options,
  chosen,
  is_wrong,
  described_by,
}: {
  name: string;
  options: { value: string; label: string }[];
  chosen: readonly string[];
  is_wrong: boolean;
  described_by: string;
}) {
  const [text, setText] = useState('');
  const wanted = text.trim().toLowerCase();
  const matching = options.filter(({ label }) => label.toLowerCase().includes(wanted));
  const is_searched = options.length > unsearched_max;
  const near = new Set(matching.slice(0, is_searched ? shown_max : undefined));
  const left_out = matching.length - near.size;
  return (
    <>
      {is_searched && (
        <TextInput
          aria-label={`Search ${options.length.toLocaleString('en')} choices`}
          placeholder="Search by name"
          autoComplete="off"
          spellCheck={false}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          // Enter searches here, so it must not send the form.
          onKeyDown={(event) => {
            if (event.key === 'Enter') event.preventDefault();
          }}
        />
      )}
      <div className="choices">
        {options.map((option) => (
          <Checkbox
            key={option.value}
            name={name}
            value={option.value}
            label={option.label}
            defaultChecked={chosen.includes(option.value)}
            aria-invalid={is_wrong}
            aria-describedby={described_by}
            wrapperProps={near.has(option) ? {} : { 'data-far': '' }}
          />
        ))}
      </div>
      {is_searched && (
        <p className="muted" role="status">
          {matching.length === 0
            ? 'No name matches.'
            : left_out > 0 && `${left_out.toLocaleString('en')} more: search for them by name.`}
        </p>
      )}
    </>
  );
}
