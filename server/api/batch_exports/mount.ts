/**
 * One place in the API where the slice is found: the URL of its list, and what its first parameter
 * names.
 */
export type Mount = { base: string; within: 'organization' | 'project' };
