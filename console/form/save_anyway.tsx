import { Button } from '@mantine/core';

/** Sends the surrounding form despite a failed test. */
export function SaveAnyway({ force }: { force: (form: HTMLFormElement | null) => void }) {
  return <Button onClick={({ currentTarget }) => force(currentTarget.form)}>Save anyway</Button>;
}
