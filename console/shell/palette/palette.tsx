import { useId, useState } from 'react';
import type { KeyboardEvent } from 'react';
import { Dialog } from '../../page/dialog.tsx';
import { useItems } from './items.ts';
import type { Item } from './items.ts';
import './palette.css';

/**
 * The command palette: typing filters, arrows select, Enter runs, Escape closes. For screen readers
 * it is a field with a list of proposals.
 */
export function Palette({ close }: { close: () => void }) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const [told, setTold] = useState('');
  const id = useId();
  const items = useItems(typed);
  const chosen = Math.min(at, items.length - 1);
  const run = async (item: Item | undefined) => {
    if (item === undefined) return;
    const said = item.run();
    // An item without a message opens a page, so the palette closes first.
    if (!(said instanceof Promise) && said === undefined) return close();
    if (item.group !== 'This page') return close();
    const sentence = await said;
    if (typeof sentence === 'string') setTold(sentence);
    else close();
  };
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && items.length > 0) {
      event.preventDefault();
      setAt((chosen + step + items.length) % items.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      void run(items[chosen]);
    }
  };
  return (
    <Dialog title="Go to" is_quiet close={close}>
      <input
        className="palette_field"
        role="combobox"
        aria-label="Page, export or action"
        aria-expanded="true"
        aria-controls={`${id}list`}
        aria-autocomplete="list"
        aria-activedescendant={chosen < 0 ? undefined : `${id}${chosen}`}
        placeholder="Page, export or action"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onKeyDown={keys}
        onChange={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setAt(0);
          setTold('');
        }}
      />
      <p role="status" className={told === '' ? 'unseen' : 'palette_told good'}>
        {told === '' ? resultsIn(items.length) : told}
      </p>
      <Options id={id} items={items} chosen={chosen} run={(item) => void run(item)} point={setAt} />
    </Dialog>
  );
}

function resultsIn(count: number): string {
  if (count === 0) return 'Nothing fits';
  return count === 1 ? '1 result' : `${count} results`;
}

function Options({
  id,
  items,
  chosen,
  run,
  point,
}: {
  id: string;
  items: Item[];
  chosen: number;
  run: (item: Item) => void;
  point: (at: number) => void;
}) {
  const groups = [...new Set(items.map(({ group }) => group))];
  return (
    <div className="palette_list" role="listbox" id={`${id}list`} aria-label="Results">
      {groups.map((group) => (
        <div key={group} role="group" aria-label={group}>
          <div className="palette_group" aria-hidden="true">
            {group}
          </div>
          {items.map((item, at) =>
            item.group === group ? (
              <Option
                key={`${item.label} ${at}`}
                id={`${id}${at}`}
                item={item}
                is_chosen={at === chosen}
                run={() => run(item)}
                point={() => point(at)}
              />
            ) : undefined,
          )}
        </div>
      ))}
      {items.length === 0 && <p className="muted palette_group">Nothing fits.</p>}
    </div>
  );
}

function Option({
  id,
  item: { label, hint },
  is_chosen,
  run,
  point,
}: {
  id: string;
  item: Item;
  is_chosen: boolean;
  run: () => void;
  point: () => void;
}) {
  return (
    // The field keeps the focus and handles the keys.
    <button
      type="button"
      id={id}
      role="option"
      tabIndex={-1}
      onMouseDown={(event) => event.preventDefault()}
      aria-selected={is_chosen}
      className="palette_option"
      ref={(place) => {
        if (is_chosen) place?.scrollIntoView({ block: 'nearest' });
      }}
      onClick={run}
      onMouseMove={is_chosen ? undefined : point}
    >
      <bdi>{label}</bdi>
      {hint !== undefined && <span className="muted">{hint}</span>}
    </button>
  );
}
