/** Returns the texts of an address that a page knows, without empty and unknown ones. */
export function textsOf<Name extends string>(names: readonly Name[]) {
  return (given: Record<string, unknown>): { [Key in Name]?: string } => {
    const found: { [Key in Name]?: string } = {};
    for (const name of names) {
      const value = given[name];
      if (typeof value === 'string' || typeof value === 'number') found[name] = String(value);
      if (found[name] === '') delete found[name];
    }
    return found;
  };
}
