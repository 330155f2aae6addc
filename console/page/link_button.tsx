import { Button } from '@mantine/core';
import type { ButtonProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, Ref } from 'react';

type Given = ButtonProps &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof ButtonProps> & {
    ref?: Ref<HTMLAnchorElement>;
  };

/** A link to another page that looks like a button. */
export const LinkButton = createLink((given: Given) => (
  <Button component="a" size="compact-sm" {...given} />
));
