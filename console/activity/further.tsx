import { Button } from '@mantine/core';
import type { Continued } from '../http/list.ts';
import { cursorOf } from './activity.ts';

/** Links to newer and older entries of a list. */
export function Further({
  page: { next, previous },
  go,
}: {
  page: Pick<Continued<unknown>, 'next' | 'previous'>;
  go: (cursor: string) => void;
}) {
  const ways = [
    { label: 'Newer', link: previous },
    { label: 'Older', link: next },
  ];
  return (
    <div className="row_actions">
      {ways.map(
        ({ label, link }) =>
          link !== null && (
            <Button key={label} onClick={() => go(cursorOf(link))}>
              {label}
            </Button>
          ),
      )}
    </div>
  );
}
