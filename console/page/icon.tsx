import type { ReactNode } from 'react';

/** An icon with a size in pixels, in the colour of the surrounding text. */
export type Icon = (given: {
  size?: number;
  stroke?: number;
  className?: string;
  'aria-hidden'?: boolean;
  'aria-label'?: string;
}) => ReactNode;

/** Returns the icon for SVG shapes. The build calls it for each module `icon:<name>`. */
export function iconOf(shapes: string): Icon {
  return ({ size = 24, stroke = 2, ...more }) => (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      viewBox="0 0 24 24"
      width={size}
      height={size}
      strokeWidth={stroke}
      {...more}
      dangerouslySetInnerHTML={{ __html: shapes }}
    />
  );
}
