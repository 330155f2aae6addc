import { Button, TextInput } from '@mantine/core';

/** The end of a filter form: its days, the button that applies it, and a link that clears it. */
export function FilterEnd({
  filter,
  showAll,
}: {
  filter: { after?: string | undefined; before?: string | undefined };
  showAll: () => void;
}) {
  return (
    <>
      <TextInput
        name="after"
        type="date"
        label="From day (UTC)"
        defaultValue={filter.after?.slice(0, 10)}
      />
      <TextInput
        name="before"
        type="date"
        label="Before day (UTC)"
        defaultValue={filter.before?.slice(0, 10)}
      />
      <Button type="submit">Filter</Button>
      {Object.keys(filter).length > 0 && (
        <Button variant="subtle" onClick={showAll}>
          Show all
        </Button>
      )}
    </>
  );
}
