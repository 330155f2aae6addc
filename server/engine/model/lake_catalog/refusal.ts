/** The kinds of refusal in the Iceberg REST specification, with their status. */
const statuses = {
  BadRequestException: 400,
  ForbiddenException: 403,
  NotFoundException: 404,
  NoSuchNamespaceException: 404,
  NoSuchTableException: 404,
  UnsupportedOperationException: 406,
  AlreadyExistsException: 409,
  CommitFailedException: 409,
  NamespaceNotEmptyException: 409,
  UnprocessableEntityException: 422,
} as const;

/**
 * Thrown for a request to the catalog that was refused and changed nothing. Callers see `message`.
 */
export class LakeRefused extends Error {
  readonly type: keyof typeof statuses;
  constructor(type: keyof typeof statuses, message: string) {
    super(message);
    this.name = 'LakeRefused';
    this.type = type;
  }
  get status(): number {
    return statuses[this.type];
  }
}

/** Returns a 400: the catalog cannot do what the request says. */
export function badRequest(message: string): LakeRefused {
  return new LakeRefused('BadRequestException', message);
}

/**
 * Returns a 409: the table has changed since the commit was prepared, and nothing of the commit was
 * applied.
 */
export function commitFailed(message: string): LakeRefused {
  return new LakeRefused('CommitFailedException', message);
}
