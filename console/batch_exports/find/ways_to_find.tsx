import { Button, TextInput } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useContext } from 'react';
import type { SyntheticEvent } from 'react';
import { ZoneContext } from '../../time/instant.tsx';
import type { FindSearch } from './find.ts';
import { isUuid } from './found_groups.ts';

const route = getRouteApi('/signed_in/projects/$project_id/find');

/** The forms of the search for a record. */
export function WaysToFind({ search }: { search: FindSearch }) {
  return (
    <div className="sheet ways_to_find">
      <FindByUuid key={`uuid ${search.uuid}`} search={search} />
      <FindByDay key={`day ${search.distinct_id} ${search.day}`} search={search} />
      <FindById key={`session ${search.session_id}`} search={search} of="session" />
      <FindById key={`group ${search.group_id}`} search={search} of="group" />
    </div>
  );
}

function useAsk(): (search: FindSearch) => void {
  const navigate = route.useNavigate();
  return (search) => void navigate({ search });
}

/** Reads the typed values of a form, by name. */
function typedIn(event: SyntheticEvent<HTMLFormElement>): (name: string) => string {
  event.preventDefault();
  const data = new FormData(event.currentTarget);
  return (name) => {
    const value = data.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
}

function FindByUuid({ search }: { search: FindSearch }) {
  const ask = useAsk();
  return (
    <form
      className="filters"
      aria-label="By uuid"
      onSubmit={(event) => ask({ uuid: typedIn(event)('uuid') })}
    >
      <TextInput
        name="uuid"
        label="The uuid of an event"
        size="sm"
        className="uuid_field"
        defaultValue={search.uuid}
        error={
          search.uuid !== undefined && !isUuid(search.uuid)
            ? 'This is not a uuid. A uuid has 32 digits of 0-9 and a-f, with four dashes.'
            : undefined
        }
        autoComplete="off"
        spellCheck={false}
        required
        withAsterisk={false}
      />
      <Button type="submit" variant="filled">
        Find the event
      </Button>
    </form>
  );
}

function FindByDay({ search }: { search: FindSearch }) {
  const zone = useContext(ZoneContext);
  const ask = useAsk();
  return (
    <form
      className="filters"
      aria-label="By distinct id and day"
      onSubmit={(event) => {
        const typed = typedIn(event);
        ask({ distinct_id: typed('distinct_id'), day: typed('day') });
      }}
    >
      <TextInput
        name="distinct_id"
        label="Or a distinct id"
        size="sm"
        defaultValue={search.distinct_id}
        autoComplete="off"
        spellCheck={false}
        required
        withAsterisk={false}
      />
      <TextInput
        name="day"
        type="date"
        label={`and a day (${zone})`}
        size="sm"
        defaultValue={search.day}
        required
        withAsterisk={false}
      />
      <Button type="submit" variant="filled">
        Find its records
      </Button>
    </form>
  );
}

function FindById({ search, of }: { search: FindSearch; of: 'session' | 'group' }) {
  const ask = useAsk();
  const name = `${of}_id` as const;
  return (
    <form
      className="filters"
      aria-label={`By ${of}`}
      onSubmit={(event) => ask({ [name]: typedIn(event)(name) })}
    >
      <TextInput
        name={name}
        label={`Or the id of a ${of}`}
        size="sm"
        className="uuid_field"
        placeholder={of === 'group' ? 'company:acme' : undefined}
        defaultValue={search[name]}
        autoComplete="off"
        spellCheck={false}
        required
        withAsterisk={false}
      />
      <Button type="submit" variant="filled">{`Find the ${of}`}</Button>
    </form>
  );
}
