import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { Problem } from '../http/problem.ts';
import { PlainPage } from '../page/page.tsx';
import { Refusal } from '../page/shown.tsx';

/** Shown for a missing page or record. */
export function NoSuchPage() {
  return (
    <PlainPage title="Page not found">
      <p>It was moved or deleted, or the address is incomplete.</p>
      <p>
        <Link to="/">Go to the start page</Link>
      </p>
    </PlainPage>
  );
}

/** Shown for a page that failed before it rendered anything. */
export function CouldNotBeShown({ error, reset }: ErrorComponentProps) {
  return (
    <PlainPage title="This page could not be shown">
      {error instanceof Problem ? (
        <Refusal problem={error} title="The server says" />
      ) : (
        <p>
          The console has an error here: {error instanceof Error ? error.message : String(error)}
        </p>
      )}
      <p>
        <Button onClick={reset}>Try again</Button>
      </p>
    </PlainPage>
  );
}
