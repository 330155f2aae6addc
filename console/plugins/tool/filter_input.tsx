import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { FilterGroup } from '../../../server/api/plugin_configs/preview/schema.ts';
import { filterText, operators, rowsOf, wantsValue } from './filter_rows.ts';
import type { FilterRow, FilterRows } from './filter_rows.ts';

/** The filter of a mapping: conditions in rows, or its text if rows cannot express it. */
export function FilterInput({
  text,
  filter,
  fault,
  paths_id,
  change,
}: {
  text: string;
  /** The filter of this text; null if it is invalid; undefined before the answer. */
  filter: FilterGroup | null | undefined;
  fault: string | null;
  /** The list of paths of the event. */
  paths_id: string;
  change: (text: string) => void;
}) {
  const [draft, setDraft] = useState<{ text: string; rows: FilterRows }>();
  const [is_text, setText] = useState(false);
  const read = draft?.text === text ? draft.rows : filter ? rowsOf(filter) : undefined;
  const put = (rows: FilterRows) => {
    const next = filterText(rows);
    setDraft({ text: next, rows });
    change(next);
  };
  const cannot_show = filter !== undefined && read === undefined;
  return (
    <div role="group" aria-label="Events" className="together">
      {is_text || read === undefined ? (
        <TextInput
          label="Events"
          description={'A filter, such as type = "track" and event = "Order Completed"'}
          value={text}
          error={fault}
          readOnly={!is_text && !cannot_show}
          onChange={({ currentTarget }) => {
            // Typed text stays text, because switching to rows would disturb the person.
            setText(true);
            change(currentTarget.value);
          }}
        />
      ) : (
        <Rows {...{ read, paths_id, put, fault }} />
      )}
      {(read !== undefined || is_text) && (
        <Button
          variant="subtle"
          size="compact-sm"
          className="as_text"
          disabled={is_text && read === undefined}
          onClick={() => setText(!is_text)}
        >
          {is_text ? 'Edit the filter as a form' : 'Edit the filter as text'}
        </Button>
      )}
    </div>
  );
}

function Rows({
  read,
  paths_id,
  put,
  fault,
}: {
  read: FilterRows;
  paths_id: string;
  put: (rows: FilterRows) => void;
  fault: string | null;
}) {
  const { match, rows } = read;
  return (
    <>
      <NativeSelect
        label="Events"
        description={rows.length === 0 ? 'Without a condition, every event is sent.' : undefined}
        error={fault}
        maw={260}
        value={match}
        data={[
          { value: 'all', label: 'All conditions hold' },
          { value: 'any', label: 'Any condition holds' },
        ]}
        onChange={({ currentTarget }) =>
          put({ rows, match: currentTarget.value === 'any' ? 'any' : 'all' })
        }
      />
      {rows.map((row, at) => (
        <OneRow
          key={at}
          row={row}
          number={at + 1}
          paths_id={paths_id}
          change={(next) =>
            put({
              match,
              rows: next === undefined ? rows.toSpliced(at, 1) : rows.toSpliced(at, 1, next),
            })
          }
        />
      ))}
      <Button
        size="compact-sm"
        className="as_text"
        onClick={() =>
          put({ match, rows: [...rows, { field: 'event', operator: 'is', value: '' }] })
        }
      >
        Add a condition
      </Button>
    </>
  );
}

function OneRow({
  row,
  number,
  paths_id,
  change,
}: {
  row: FilterRow;
  number: number;
  paths_id: string;
  change: (next: FilterRow | undefined) => void;
}) {
  const { field, operator, value } = row;
  return (
    <div className="filter_row" role="group" aria-label={`Condition ${number}`}>
      <TextInput
        aria-label="Field"
        placeholder="properties.plan"
        list={paths_id}
        value={field}
        onChange={({ currentTarget }) => change({ ...row, field: currentTarget.value })}
      />
      <NativeSelect
        aria-label="Operator"
        value={operator}
        data={operators}
        onChange={({ currentTarget }) => {
          const chosen = operators.find((one) => one.value === currentTarget.value);
          if (chosen !== undefined) change({ ...row, operator: chosen.value });
        }}
      />
      {wantsValue(operator) && (
        <TextInput
          aria-label="Value"
          placeholder={operator === 'one_of' ? 'Order Completed, Order Refunded' : 'Value'}
          value={value}
          onChange={({ currentTarget }) => change({ ...row, value: currentTarget.value })}
        />
      )}
      <Button aria-label={`Remove condition ${number}`} onClick={() => change(undefined)}>
        Remove
      </Button>
    </div>
  );
}
