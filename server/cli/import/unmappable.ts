/** Why a line cannot become an event, for the person who imports it. */
export class Unmappable extends Error {}

/** Namespace of uuids for foreign ids, the same in every import. */
export const foreign_id_namespace = '2f3f7c0e-8a54-5a3e-9d55-6a7d1d0f3a27';
