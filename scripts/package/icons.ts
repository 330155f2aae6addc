import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../child.ts';

const prefix = 'icon:';

/** The package of all icons: one file, where React's package has 12,000. */
export const icon_package = '@iconify-json/tabler';

/** Lets modules of the console import an icon by its name: `icon:code`. */
export function iconModules() {
  const file = join(root, 'node_modules', icon_package, 'icons.json');
  const { icons } = JSON.parse(readFileSync(file, 'utf8')) as {
    icons: Partial<Record<string, { body: string }>>;
  };
  const drawn = JSON.stringify(join(root, 'console/page/icon.tsx'));
  return {
    name: 'icons',
    resolveId: (id: string) => (id.startsWith(prefix) ? id : undefined),
    load: (id: string) => {
      if (!id.startsWith(prefix)) return undefined;
      const icon = icons[id.slice(prefix.length)];
      if (icon === undefined) throw new Error(`${icon_package} has no ${id}.`);
      // The caller sets the width of the strokes.
      const shapes = JSON.stringify(icon.body.replaceAll(/ stroke-width="\d+"/g, ''));
      return `import { iconOf } from ${drawn};\nexport default iconOf(${shapes});`;
    },
  };
}
