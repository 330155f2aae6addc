/** JSON in which `{{name}}` stands for a value; see `fill` in template.ts. */
export type Template = unknown;

/** An answer as a vendor documents it. */
export type VendorAnswer = {
  status: number;
  headers?: Record<string, string>;
  /** JSON, or a plain text. */
  body?: Template;
};

/**
 * A rule for one event of a request, and the vendor's words for one that breaks it. Paths are like
 * `user.email`; a missing value only breaks `required`.
 */
export type VendorCheck = {
  path?: string;
  required?: boolean;
  /** At least one of these must be present. */
  any_of?: string[];
  pattern?: string;
  length_max?: number;
  length_min?: number;
  /** The time is at most this many days ago; `unit` is its notation. */
  days_max?: number;
  unit?: 'seconds' | 'milliseconds' | 'microseconds' | 'text';
  message: string;
  /** A word for `{{code}}`. */
  code?: string | number;
};

/** Requests with the same treatment. */
export type VendorRoute = {
  /** Method and path, with or without the query, as a regular expression. */
  at: string;
  /** True if it accepts no events. */
  is_read?: boolean;
  /** True if it does not check the key. */
  is_open?: boolean;
  /** Places of the events: lists or an object. By default `$`, the body. */
  events?: string[];
  /** The field of a form that contains the JSON. */
  form?: string;
  /** Most events and most bytes of a request. */
  count_max?: number;
  bytes_max?: number;
  checks?: VendorCheck[];
  /** The path of the key by which the vendor recognizes repeats. */
  key?: string;
  ok: VendorAnswer;
  /** For one event that breaks a rule; with `is_whole`, also for several of which one does. */
  refused?: VendorAnswer;
  /** For a list in which some entries break rules and the others are accepted. */
  partly?: VendorAnswer;
  /** True if one event that breaks a rule spoils its request. */
  is_whole?: boolean;
  too_large?: VendorAnswer;
};

/** The documented behaviour of a vendor, and how our test uses it. */
export type Vendor = {
  name: string;
  directory: string;
  /** The page that documents it. */
  documented: string[];
  hosts: string[];
  /** The part of a request with the key, and its right value. */
  credential: { in: 'header' | 'query' | 'body'; name: string; value: string } | null;
  unauthorized?: VendorAnswer;
  /** The answer beyond the limit of the account or a person, and the pause that it requests. */
  limited: VendorAnswer & { rest_seconds: number | null; is_of_person?: boolean };
  outage: VendorAnswer;
  routes: VendorRoute[];
  /** Valid settings of the tool for a test. */
  settings: Record<string, unknown>;
  /** Settings that the vendor refuses; `$fields` are fields of the mapping. */
  wrong: Record<string, unknown>;
  /** The operator's variable for the key. */
  variable?: string;
  /** Fields of mappings without a useful default, by action. */
  fields?: Record<string, Record<string, unknown>>;
  /** Skipped presets, and why. */
  left_out?: Record<string, string>;
  /** A mapping, and an event that the vendor refuses; `says` are the vendor's words. */
  bad: { mapping: string; event: Record<string, unknown>; says: string } | null;
  /** The mapping for batches. */
  batch?: string;
};
