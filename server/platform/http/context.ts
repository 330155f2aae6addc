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
  /** Takes the mails of a change, in its transaction. */
  outbox: Outbox;
  /** Notes what is refused, beside the requests. */
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
     * The caller on a public route: undefined without key and session; throws 401 for wrong ones.
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
    /** The result of the thread that reads long bodies, for this body. */
    read_aside: BodyReply | undefined;
    /** The names that the route does not know; there where the API's own rules hold. */
    unknown: Unknown | undefined;
  }
  interface FastifyContextConfig {
    /**
     * The scope that a key needs; `any` where every key and session may; `public` where nobody has
     * to say who they are. Without it the server does not start.
     */
    scope?: Scope | 'any' | 'public';
    /**
     * The path holds an organization (`:organization_id`, else `:id`) or a project (`:project_id`,
     * else `:id`) of which the caller must be a member.
     */
    within?: Within;
    /**
     * Selects the record that a GET answers, of the organization or project of `within`. It is read
     * with the check of the caller, in one statement, and seen by the handler alone.
     */
    record?: RecordSelect;
    /** The least level of the member: 1 (default), 8 or 15. */
    level?: 1 | 8 | 15;
    /** The caller must have signed in: a key is 403 here. */
    session?: boolean;
    /** A key can also be shown as a token that it was exchanged for. */
    takes_tokens?: boolean;
    /** Tokens of assistants are for this route; elsewhere they are refused. */
    agents?: boolean;
    /** The route keeps the answers to an `Idempotency-Key` itself. */
    keeps_answers?: boolean;
    /**
     * May a service key call it? Default: where the path holds an organization or a project
     * (`within`). Elsewhere, and where it is false, the caller must be a person.
     */
    service_keys?: boolean;
    /**
     * The route is about the account as a whole: a session that reaches only a part of what the
     * account has is 403 here.
     */
    own_account?: boolean;
    /** A session must have shown the account's own factor in the last ten minutes. */
    recent_factor?: boolean;
    /**
     * The write holds the organization's lock from its beginning, so that rules over several
     * members cannot race.
     */
    locks_organization?: boolean;
    /**
     * A POST that is an action on one record and looks at `If-Match`, as every PUT, PATCH and
     * DELETE may.
     */
    if_match?: boolean;
    /**
     * The answer holds a secret, so nobody on its way keeps it: `Cache-Control: no-store`. Every
     * route whose answer has a secret says so (test/house/secret_answers.test.ts).
     */
    no_store?: boolean;
    /** The most values that a body may hold, where 10,000 are too few. */
    values_max?: number;
    /** Treatment of names that the route does not know; set at registration. */
    unknown?: UnknownPolicy;
    /** The route's schema, once it is registered: what the OpenAPI document says of it. */
    declared?: FastifySchema;
    /** Public routes that answer something else than JSON take any `Accept`. */
    accepts_anything?: boolean;
    /** A path of a protocol that is not ours: it has its own query, and few statuses. */
    foreign?: boolean;
    /**
     * Media types that the route can answer besides JSON; a request whose `Accept` takes one of
     * them is served.
     */
    media_types?: readonly string[];
  }
}
