{{- define "altershield-operator.labels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/name: altershield-operator
app.kubernetes.io/part-of: altershield
{{- end }}

{{- define "altershield-operator.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- /* Flags that the manifests leave at the operator's defaults. */ -}}
{{- define "altershield-operator.args" -}}
{{- if ne .Release.Namespace "altershieldoperator-system" }}
- --namespace={{ .Release.Namespace }}
{{- end }}
{{- if ne (int .Values.webhook.port) 1443 }}
- --webhook-port={{ .Values.webhook.port }}
{{- end }}
{{- with .Values.server }}
{{- with .tenant }}
- {{ printf "--altershield-tenant=%s" . | quote }}
{{- end }}
{{- with .scene }}
- {{ printf "--altershield-scene=%s" . | quote }}
{{- end }}
{{- with .failurePolicy }}
- --altershield-failure-policy={{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Has cert-manager put its CA into the webhook configurations. */ -}}
{{- define "altershield-operator.webhookAnnotations" -}}
{{- if eq .Values.webhook.certificate "cert-manager" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/altershieldoperator-serving-cert
{{- end -}}
{{- end }}
