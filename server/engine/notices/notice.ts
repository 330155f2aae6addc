import type { RunEnd } from '../model/run.ts';

/** The events of an export or a tool that notices report: one for each change of its state. */
export const notice_events = [
  'failing',
  'recovered',
  'late',
  'unusual_volume',
  'rejecting',
  'table_gone',
  'schema_drift',
  'table_unreadable',
  'differing',
  'disconnected',
  'paused_automatically',
] as const;

export type NoticeEvent = (typeof notice_events)[number];

/** The services that get notices in their own format. */
export const notice_services = ['slack', 'microsoft_teams', 'pagerduty'] as const;

export type NoticeService = (typeof notice_services)[number];

/** The run that a notice is about. */
export type NoticeRun = {
  id: string;
  status: RunEnd['status'];
  error_code: string | null;
  latest_error: string | null;
  data_interval_start: string;
  data_interval_end: string;
  records_completed: number | null;
  records_rejected: number;
};

/**
 * A change of an export's state. `detail` is a sentence for people. `facts` are the event's fields,
 * which docs/notices.md lists.
 */
export type Notice = {
  event: NoticeEvent;
  detail: string;
  run: NoticeRun | null;
  facts: Record<string, unknown>;
};

/** The tool that a notice is about. */
export type NoticeTool = { id: number; team_id: number; name: string; plugin: number };

/**
 * The content of a notice: JSON for webhooks, and the source of mails. It is about an export or a
 * tool.
 */
export type NoticeBody = {
  type: `${'batch_export' | 'plugin_config'}.${NoticeEvent}`;
  timestamp: string;
  data: {
    batch_export?: {
      id: string;
      team_id: number;
      name: string;
      model: string;
      interval: string;
      destination_type: string;
    };
    plugin_config?: NoticeTool;
    /** missing or incomplete in bodies of earlier versions */
    project?: { id: number; name: string; timezone?: string };
    detail: string;
    run: NoticeRun | null;
  } & Record<string, unknown>;
};

/** Returns the export or tool that a notice is about, with its path in the console. */
export function subjectOf({ data: { batch_export, plugin_config } }: Pick<NoticeBody, 'data'>) {
  if (batch_export !== undefined) {
    const { id, team_id, name } = batch_export;
    return {
      kind: 'export' as const,
      id,
      team_id,
      name,
      path: `/projects/${team_id}/exports/${id}`,
    };
  }
  const { id, team_id, name, plugin } = plugin_config!;
  const path = `/projects/${team_id}/plugins/pipeline_destinations/${plugin}`;
  return { kind: 'tool' as const, id: `plugin_config/${id}`, team_id, name, path };
}

/** Returns the event in the type of a notice, such as `failing` of `batch_export.failing`. */
export function eventOf({ type }: Pick<NoticeBody, 'type'>): NoticeEvent {
  return type.slice(type.indexOf('.') + 1) as NoticeEvent;
}
