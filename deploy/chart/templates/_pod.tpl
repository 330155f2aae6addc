{{/* What pods have alike. */}}
{{- define "sluice.pod" -}}
# Else a Service that is named sluice gives each pod a SLUICE_PORT, and others that are no settings.
enableServiceLinks: false
# It asks nothing of Kubernetes.
automountServiceAccountToken: false
securityContext:
  {runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: {type: RuntimeDefault}}
terminationGracePeriodSeconds: 45
volumes: [{name: work, emptyDir: {}}, {name: tmp, emptyDir: {}}]
{{- end }}
{{- define "sluice.container" -}}
image: {{ .Values.image | quote }}
envFrom: [{secretRef: {name: {{ .Values.secret | quote }}}}]
env:
  - {name: SLUICE_PUBLIC_URL, value: {{ .Values.publicUrl | quote }}}
  - {name: SLUICE_WORKER_PORT, value: "8001"}
  # So long requests may come still after a pod was told to stop.
  - {name: SLUICE_DRAIN_SECONDS, value: "10"}
  {{- range $name, $value := .Values.settings }}
  # A large number would else be written with an exponent, as Helm holds it.
  - name: {{ $name }}
    value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
  {{- end }}
volumeMounts: [{name: work, mountPath: /data}, {name: tmp, mountPath: /tmp}]
securityContext:
  {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end }}
{{- define "sluice.keepers" -}}
- {name: HOSTNAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: KEEPER_1, value: {{ .Release.Name }}-keeper-0.{{ .Release.Name }}-keeper}
- {name: KEEPER_2, value: {{ .Release.Name }}-keeper-1.{{ .Release.Name }}-keeper}
- {name: KEEPER_3, value: {{ .Release.Name }}-keeper-2.{{ .Release.Name }}-keeper}
{{- end }}
