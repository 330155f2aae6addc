import { Button } from '@mantine/core';

/** Sends the form around it in spite of what a test has found. */
export function SaveAnyway({ force }: { force: (form: HTMLFormElement | null) => void }) {
  return (
    <Button variant="default" onClick={({ currentTarget }) => force(currentTarget.form)}>
      Save anyway
    </Button>
  );
}
