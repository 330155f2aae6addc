import type { ComponentProps } from 'react';

/** A table, and its parts. On narrow screens, each row of `cards` is a card. */
export const Table = Object.assign(
  ({ className, ...rest }: ComponentProps<'table'>) => (
    <table className={`table ${className ?? ''}`} {...rest} />
  ),
  { Thead: 'thead', Tbody: 'tbody', Tr: 'tr', Th: 'th', Td: 'td' } as const,
);
