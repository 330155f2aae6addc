const sessions = 'Sessions are the table `sessions`; an event has properties.$session_id.';
const groups = 'Groups are the table `groups`; an event has properties.$groups.company.';

// Names of tables and columns on other analytics platforms, and their equivalents here.
const elsewhere = new Map([
  ['id', 'A person has `person_id`, an event `uuid`.'],
  ['session', sessions],
  ['group', groups],
  ...Array.from({ length: 5 }, (_, index) => [`group_${index}`, groups] as const),
]);

/** Suggests a replacement for a name that is no table or column here, if one is known. */
export function elsewhereNamed(name: string): string | undefined {
  return name.startsWith('$')
    ? `A property has its column before it: write properties.${name}.`
    : elsewhere.get(name);
}
