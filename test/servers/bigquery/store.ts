import type { KeyObject } from 'node:crypto';
import type http from 'node:http';
import type { BigQueryJobs } from './jobs.ts';
import type { StoredTable } from './tables.ts';

/** The known account, as in a config. */
export type BigQueryAccount = {
  project_id: string;
  private_key: string;
  private_key_id: string;
  token_uri: string;
  client_email: string;
};

type Upload = { job: unknown; bytes: Buffer; ended: unknown };

/** The whole state of the server. */
export type Store = {
  project: string;
  datasets: Map<string, Map<string, StoredTable>>;
  jobs: BigQueryJobs;
  uploads: Map<string, Upload>;
  tokens: Set<string>;
  account: BigQueryAccount;
  public_key: KeyObject;
  parts: number;
  lost: RegExp[];
};

/** The answer to a request. */
export type Answer = { status: number; body?: unknown; headers?: Record<string, string> };

/** A parsed request. */
export type Asked = { request: http.IncomingMessage; url: URL; body: Buffer };

/** Thrown to answer with an error of the API. */
export class Refused extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/** The address of the real service. */
export const origin = 'https://bigquery.googleapis.com';

/** Small, so that a listing has several pages. */
export const page_size = 2;

/** The real address that gives its tokens. */
export const token_uri = 'https://oauth2.googleapis.com/token';
