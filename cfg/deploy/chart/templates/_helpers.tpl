{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "agent.selector" -}}
{{- with .Values.draDriver.selectorLabelsOverride }}{{ toYaml . }}
{{- else -}}
app.kubernetes.io/name: {{ .Values.draDriver.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- end }}

{{- define "agent.labels" -}}
{{ include "agent.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* The newest version of resource.k8s.io that the API server serves. 1.33 knows two, both off by default; of them v1beta1
is the one that its own scheduler and kubelet need. */}}
{{- define "agent.resourceVersion" -}}
{{- $served := .Capabilities.APIVersions }}
{{- if and (semverCompare ">=1.34.0-0" .Capabilities.KubeVersion.Version) ($served.Has "resource.k8s.io/v1") -}}
v1
{{- else if $served.Has "resource.k8s.io/v1beta1" -}}
v1beta1
{{- else if $served.Has "resource.k8s.io/v1beta2" -}}
v1beta2
{{- else }}
{{- fail "the API server serves no resource.k8s.io: Kubernetes 1.34 does by default; 1.33 needs --feature-gates=DynamicResourceAllocation=true and --runtime-config=resource.k8s.io/v1beta1=true" }}
{{- end }}
{{- end }}

{{/* "yes" when this release makes an object that another may have made before it: the object is not there, or is its own.
Takes a list: the context, apiVersion, kind, name. */}}
{{- define "agent.makes" -}}
{{- $there := lookup (index . 1) (index . 2) "" (index . 3) }}
{{- $owner := dig "metadata" "annotations" "meta.helm.sh/release-name" "" $there }}
{{- if or (empty $there) (eq $owner (index . 0).Release.Name) }}yes{{ end }}
{{- end }}

{{/* Where a pod with the agent's image can run: what the DaemonSet and the check before an uninstallation share. */}}
{{- define "agent.placement" -}}
{{- $d := .Values.draDriver }}
{{- with $d.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $d.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with $d.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $d.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $d.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $d.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
affinity:
  {{- if $d.affinity }}
  {{- toYaml $d.affinity | nindent 2 }}
  {{- else }}
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: node.kubernetes.io/instance-type
          operator: In
          values:
          {{- range $d.instanceTypes }}
          - {{ . }}
          - ml.{{ . }}
          {{- end }}
        - key: eks.amazonaws.com/compute-type
          operator: NotIn
          values: [fargate, hybrid, auto]
  {{- end }}
{{- end }}

{{- define "agent.image" -}}
image: {{ printf "%s:%s" .Values.draDriver.image.repository (default .Chart.AppVersion .Values.draDriver.image.tag) | quote }}
imagePullPolicy: {{ .Values.draDriver.image.pullPolicy }}
{{- end }}
