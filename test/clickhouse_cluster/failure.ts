/** An error in ClickHouse's words, as clients of its HTTP interface get it. */
export class Failure extends Error {
  readonly code: number;
  readonly status: number;

  constructor(code: number, type: string, sentence: string, status = 500) {
    super(`Code: ${code}. DB::Exception: ${sentence} (${type})`);
    this.name = 'Failure';
    this.code = code;
    this.status = status;
  }
}

/** The replica is down, or was killed during the request, so the caller gets no answer. */
export class NoAnswer extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'NoAnswer';
  }
}
