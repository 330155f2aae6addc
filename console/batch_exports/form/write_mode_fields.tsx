import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { useFault } from '../../form/context.ts';
import type { Draft } from './draft.ts';
import { mode_choices, namesIn, offeredColumns, usualKeys, withName } from './write_mode.ts';

type Given = {
  draft: Draft;
  type: DestinationType | undefined;
  /** The columns of the first rows. */
  columns: readonly string[];
  change: (changes: Partial<Draft>) => void;
};

/** Fields of the write mode: the columns for merging, the limits for replacing. */
export function WriteModeFields({ draft, type, columns, change }: Given) {
  const error = useFault('mode');
  const chosen = mode_choices.find(({ value }) => value === draft.mode);
  const offered = offeredColumns(draft, type, columns);
  const choose = (value: string) => {
    const mode = mode_choices.find((one) => one.value === value)?.value ?? '';
    const is_empty = draft.primary_key === '' && draft.version_key === '';
    change({ mode, ...(mode === 'merge' && is_empty ? usualKeys(draft) : {}) });
  };
  return (
    <>
      <NativeSelect
        name="mode"
        label="Rows in the table"
        description={chosen?.hint}
        error={error}
        value={draft.mode}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
        data={mode_choices.map(({ value, label }) => ({ value, label }))}
      />
      {draft.mode === 'replace' && (
        <Checkbox
          name="allow_empty"
          label="Allow an empty result"
          description={
            'If off, a run without rows fails and the table stays, because a wrong query has ' +
            'no rows either.'
          }
          checked={draft.allow_empty}
          onChange={({ currentTarget }) => change({ allow_empty: currentTarget.checked })}
        />
      )}
      {draft.mode === 'merge' && (
        <>
          <ColumnsField
            name="primary_key"
            label="Key"
            hint="Columns that identify a row, separated by commas."
            value={draft.primary_key}
            offered={offered.primary_key}
            set={(primary_key) => change({ primary_key })}
          />
          <ColumnsField
            name="version_key"
            label="Version"
            hint="Columns that grow with each change of a row. The first one that differs decides."
            value={draft.version_key}
            offered={offered.version_key}
            set={(version_key) => change({ version_key })}
          />
        </>
      )}
    </>
  );
}

/** Column names, typed or picked from a list. */
function ColumnsField({
  name,
  label,
  hint,
  value,
  offered,
  set,
}: {
  name: string;
  label: string;
  hint: string;
  value: string;
  offered: readonly string[];
  set: (value: string) => void;
}) {
  const error = useFault(name);
  const taken = namesIn(value);
  const left = offered.filter((column) => !taken.includes(column));
  return (
    <div>
      <TextInput
        name={name}
        label={label}
        description={hint}
        error={error}
        value={value}
        withAsterisk
        autoComplete="off"
        onChange={({ currentTarget }) => set(currentTarget.value)}
      />
      {left.length > 0 && (
        <div className="column_picks" role="group" aria-label={`Columns for ${label}`}>
          {left.map((column) => (
            <Button key={column} size="compact-xs" onClick={() => set(withName(value, column))}>
              Add {column}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}
