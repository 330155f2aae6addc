/** JSON in which `{{name}}` stands for a value; see `fill` in template.ts. */
export type Template = unknown;

/** An answer as a vendor documents it. */
export type VendorAnswer = {
  status: number;
  headers?: Record<string, string>;
  /** JSON, or a text as it is. */
  body?: Template;
};

/**
 * A rule for one event of a request, and the words of the vendor for one that breaks it. Paths are
 * as in `user.email`; a value that is not there breaks `required` alone.
 */
export type VendorCheck = {
  path?: string;
  required?: boolean;
  /** At least one of these is there. */
  any_of?: string[];
  pattern?: string;
  length_max?: number;
  length_min?: number;
  /** The time is at most so many days ago; `unit` is its notation. */
  days_max?: number;
  unit?: 'seconds' | 'milliseconds' | 'microseconds' | 'text';
  message: string;
  /** A word for `{{code}}`. */
  code?: string | number;
};

/** Requests that are treated alike. */
export type VendorRoute = {
  /** Method and path, with or without the query, as a regular expression. */
  at: string;
  /** True: it takes nothing. */
  is_read?: boolean;
  /** True: the key is not asked for. */
  is_open?: boolean;
  /** Places of the events: lists or an object. `$` is the body, if there are no others. */
  events?: string[];
  /** The field of a form that has the JSON. */
  form?: string;
  /** The most events and the most bytes in a request. */
  count_max?: number;
  bytes_max?: number;
  checks?: VendorCheck[];
  /** The path of the key by which the vendor recognizes repeats. */
  key?: string;
  ok: VendorAnswer;
  /** For one event that breaks a rule, and for several where one does with `is_whole`. */
  refused?: VendorAnswer;
  /** For a list in which some entries break rules and the others are accepted. */
  partly?: VendorAnswer;
  /** True: one event that breaks a rule spoils its request. */
  is_whole?: boolean;
  too_large?: VendorAnswer;
};

/** The documented behaviour of a vendor, and how our test speaks to it. */
export type Vendor = {
  name: string;
  directory: string;
  /** Where it is documented. */
  documented: string[];
  hosts: string[];
  /** The part of a request that has the key, and its right value. */
  credential: { in: 'header' | 'query' | 'body'; name: string; value: string } | null;
  unauthorized?: VendorAnswer;
  /** The answer beyond the limit of the account or a person, and the rest that it means. */
  limited: VendorAnswer & { rest_seconds: number | null; is_of_person?: boolean };
  outage: VendorAnswer;
  routes: VendorRoute[];
  /** Settings of the tool that fit, as a test has them. */
  settings: Record<string, unknown>;
  /** Settings that the vendor refuses; `$fields` are fields of the mapping. */
  wrong: Record<string, unknown>;
  /** The operator's variable that has the key. */
  variable?: string;
  /** Fields of mappings without a useful default, by action. */
  fields?: Record<string, Record<string, unknown>>;
  /** Presets that are left out, and why. */
  left_out?: Record<string, string>;
  /** A mapping, and an event that the vendor refuses; `says` are the vendor's words. */
  bad: { mapping: string; event: Record<string, unknown>; says: string } | null;
  /** The mapping that batches are tried with. */
  batch?: string;
};
