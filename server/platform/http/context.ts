import type { ClickHouse } from '../clickhouse/client.ts';
import type { Clock } from '../clock.ts';
import type { DiskRoom } from '../disk/disk_room.ts';
import type { Logger } from '../log.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { Metrics } from '../metrics.ts';
import type { Database } from '../postgres/database.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { BodyReply } from './bodies/aside.ts';
import type { Access, Caller, RecordSelect, Within } from './caller/access.ts';
import type { Claim } from './claim.ts';
import type { Completed } from './completed.ts';
import type { Limiter } from './limits/rate_limit.ts';
import type { SecurityLog } from './security_log/security_log.ts';
import type { Scope } from './caller/scopes.ts';
import type { Unknown, UnknownPolicy } from './unknown/unknown_in_request.ts';

/** The parts of the process that the HTTP layer uses; the server's `Deps` fit. */
export type HttpContext = {
  config: {
    public_url: string;
    trusted_proxies: string[];
    rate_limit_per_minute: number;
    rate_limit_per_hour: number;
    rate_limit_person_factor: number;
  };
  clock: Clock;
  log: Logger;
  db: Database;
  clickhouse: ClickHouse;
  secrets: Secrets;
  metrics: Metrics;
  /** Stores the mails of a change, in its transaction. */
  outbox: Outbox;
  /** Records refusals outside the requests. */
  security_log: SecurityLog;
  /** undefined: traces are off */
  tracer: Tracer | undefined;
  disk: DiskRoom;
};

declare module 'fastify' {
  interface FastifyInstance {
    context: HttpContext;
    limiter: Limiter;
    /**
     * Finds the caller on a public route: undefined without key and session; throws 401 for invalid
     * ones.
     */
    findCaller(request: FastifyRequest): Promise<Caller | undefined>;
  }
  interface FastifyRequest {
    /** The answer if the path lacks this method, or exists only with a final slash. */
    completed: Completed | undefined;
    /** The caller; set on every route that is not public. */
    caller: Caller;
    /** The target of the path and the caller's level; set on routes with `config.within`. */
    access: Access;
    /** The row that `config.record` selected; undefined without a row. */
    record: unknown;
    /** The claim on the `Idempotency-Key` while this request runs; undefined without the header. */
    idempotency: Claim | undefined;
    /** The result of the thread that read this long body. */
    read_aside: BodyReply | undefined;
    /** The names that the route does not know; set for the API's own routes. */
    unknown: Unknown | undefined;
  }
  interface FastifyContextConfig {
    /**
     * The scope that a key needs; `any`: every key and session may call it; `public`: no
     * authentication. Without it, the server does not start.
     */
    scope?: Scope | 'any' | 'public';
    /**
     * The path contains an organization (`:organization_id`, else `:id`) or a project
     * (`:project_id`, else `:id`) of which the caller must be a member.
     */
    within?: Within;
    /**
     * Selects the record that a GET returns, from the organization or project of `within`. It is
     * read in one statement with the check of the caller, and only the handler sees it.
     */
    record?: RecordSelect;
    /** The least level of the member: 1 (default), 8 or 15. */
    level?: 1 | 8 | 15;
    /** The caller must have signed in: a key gets a 403. */
    session?: boolean;
    /** True if a key may also be shown as a token that it was exchanged for. */
    takes_tokens?: boolean;
    /** True if the route accepts tokens of assistants; other routes refuse them. */
    agents?: boolean;
    /** True if the route itself stores the answers to an `Idempotency-Key`. */
    keeps_answers?: boolean;
    /**
     * True for a POST whose every effect is in one `write`. It claims its `Idempotency-Key` there,
     * together with the answer, which saves a transaction.
     */
    is_one_write?: boolean;
    /**
     * True if a service key may call it. Default: true if the path contains an organization or a
     * project (`within`). Otherwise, the caller must be a person.
     */
    service_keys?: boolean;
    /**
     * The route affects the whole account: a session that reaches only a part of the account gets a
     * 403.
     */
    own_account?: boolean;
    /** A session must have shown the account's own factor in the last ten minutes. */
    recent_factor?: boolean;
    /**
     * The write locks the organization from its beginning, so that rules over several members
     * cannot race.
     */
    locks_organization?: boolean;
    /**
     * True for a POST that is an action on one record and checks `If-Match`, as every PUT, PATCH
     * and DELETE may.
     */
    if_match?: boolean;
    /**
     * The answer contains a secret, so no cache may store it: `Cache-Control: no-store`. Required
     * for every route whose answer has a secret (test/house/secret_answers.test.ts).
     */
    no_store?: boolean;
    /** The most values that a body may contain, if 10,000 are too few. */
    values_max?: number;
    /** Treatment of names that the route does not know; set at registration. */
    unknown?: UnknownPolicy;
    /** The schema of a registered route, for the OpenAPI document. */
    declared?: FastifySchema;
    /** True for public routes that accept any `Accept`, because they do not return JSON. */
    accepts_anything?: boolean;
    /** True for a path of a foreign protocol: it has its own query, and few statuses. */
    foreign?: boolean;
    /**
     * Media types that the route can return besides JSON; a request whose `Accept` names one of
     * them is served.
     */
    media_types?: readonly string[];
  }
}
