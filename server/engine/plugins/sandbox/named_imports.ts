const clause = /\bimport\s+(?:[\w$]+\s*,\s*)?\{([^{}]*)\}\s*from\s*(['"])([^'"\n]+)\2/g;

/**
 * Returns the names that a file imports and uses as values: module -> names. `code` is esbuild's
 * output for `source`: it has no types, and an imported name is a property of `import_...`.
 */
export function namedImports(source: string, code: string): Record<string, string[]> {
  const used = new Set([...code.matchAll(/\bimport_\w+\.([\w$]+)/g)].map(([, name]) => name));
  const found = new Map<string, string[]>();
  for (const [, names, , module] of source.matchAll(clause)) {
    const wanted = names!
      .split(',')
      .map((part) => part.trim().split(/\s+/)[0]!)
      .filter((name) => name !== 'default' && used.has(name));
    found.set(module!, [...(found.get(module!) ?? []), ...wanted]);
  }
  return Object.fromEntries([...found].filter(([, names]) => names.length > 0));
}
