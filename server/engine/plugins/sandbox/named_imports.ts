const clause = /\bimport\s+(?:[\w$]+\s*,\s*)?\{([^{}]*)\}\s*from\s*(['"])([^'"\n]+)\2/g;

/**
 * What a file imports by name, and uses as a value: module -> names. `code` is what esbuild made of
 * `source`: types are gone from it, and an imported name is a property of `import_...`.
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
