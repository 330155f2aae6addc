/** Why a line cannot become an event, in words for the person who imports it. */
export class Unmappable extends Error {}

/** Ids of foreign systems become uuids under this namespace, the same for every import. */
export const foreign_id_namespace = '2f3f7c0e-8a54-5a3e-9d55-6a7d1d0f3a27';
