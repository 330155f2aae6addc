/** The longest list of paths that browsers show well. */
const paths_max = 300;
const depth_max = 5;

/**
 * Returns the paths to the values of an event, such as `properties.plan`, with each value as text.
 */
export function pathsOf(event: unknown): { path: string; shown: string }[] {
  const found: { path: string; shown: string }[] = [];
  const walk = (value: unknown, path: string, depth: number): void => {
    if (found.length >= paths_max || depth > depth_max) return;
    if (path !== '') found.push({ path, shown: JSON.stringify(value).slice(0, 60) });
    if (typeof value !== 'object' || value === null) return;
    for (const [name, part] of Object.entries(value))
      // A path cannot express a name with a dot.
      if (!name.includes('.')) walk(part, path === '' ? name : `${path}.${name}`, depth + 1);
  };
  walk(event, '', 0);
  return found;
}
