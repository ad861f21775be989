{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* Names. An empty override takes the release's, so that a second release has names of its own. */}}
{{- define "agent.name" -}}
{{- .Values.draDriver.nameOverride | default (.Release.Name | trunc 40 | trimAll "-.") }}
{{- end }}

{{- define "agent.fullname" -}}
{{- .Values.draDriver.fullnameOverride | default (printf "%s-kubelet-plugin" (.Release.Name | trunc 35 | trimAll "-.")) }}
{{- end }}

{{- define "agent.namespace" -}}
{{- .Values.draDriver.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{/* Name of the Service of `helm test`: no dot, and a letter first, which the name of a release may lack. Only this name is
changed: agent.name is a label of the DaemonSet's selector, and an existing release could not be upgraded. */}}
{{- define "agent.testService" -}}
{{- $name := printf "%s-test" (include "agent.name" . | replace "." "-") }}
{{- regexMatch "^[a-z]" $name | ternary $name (printf "agent-%s" $name) }}
{{- end }}

{{- define "agent.account" -}}
{{- .Values.draDriver.serviceAccount.name | default (printf "%s-sa" (include "agent.name" .)) }}
{{- end }}

{{/* Labels of the DaemonSet's selector, which Kubernetes never lets change: nothing may be added here. */}}
{{- define "agent.selector" -}}
{{- with .Values.draDriver.selectorLabelsOverride }}{{ toYaml . }}
{{- else -}}
app.kubernetes.io/name: {{ include "agent.name" . | toYaml }}
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
{{- end }}
{{- end }}

{{- define "agent.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Labels of a pod of the DaemonSet: those of the selector win. */}}
{{- define "agent.podLabels" -}}
{{- $d := .Values.draDriver }}
{{- $own := fromYaml (include "agent.selector" .) }}
{{- $own = set $own "app.kubernetes.io/version" .Chart.AppVersion }}
{{- toYaml (mergeOverwrite (dict) (deepCopy ($d.commonLabels | default dict)) (deepCopy ($d.podLabels | default dict)) $own) }}
{{- end }}

{{/* Labels of an object. Takes a list: the context, and a map of more labels. */}}
{{- define "agent.labelsWith" -}}
{{- $root := index . 0 }}
{{- $own := fromYaml (include "agent.selector" $root) }}
{{- $own = set $own "app.kubernetes.io/version" $root.Chart.AppVersion }}
{{- $own = set $own "app.kubernetes.io/managed-by" $root.Release.Service }}
{{- $own = set $own "helm.sh/chart" (include "agent.chart" $root) }}
{{- toYaml (mergeOverwrite (dict) (deepCopy ($root.Values.draDriver.commonLabels | default dict)) (deepCopy (index . 1 | default dict)) $own) }}
{{- end }}

{{- define "agent.labels" -}}
{{- include "agent.labelsWith" (list . dict) }}
{{- end }}

{{/* Labels of the pod of a hook, which must not be those of the DaemonSet's pods. Takes a list: the context, its name. */}}
{{- define "agent.hookPodLabels" -}}
{{- $root := index . 0 }}
{{- $own := dict "app.kubernetes.io/name" (index . 1) "app.kubernetes.io/instance" $root.Release.Name }}
{{- $own = set $own "app.kubernetes.io/managed-by" $root.Release.Service }}
{{- $own = set $own "helm.sh/chart" (include "agent.chart" $root) }}
{{- toYaml (mergeOverwrite (dict) (deepCopy ($root.Values.draDriver.commonLabels | default dict)) $own) }}
{{- end }}

{{/* A value that releases before 1.0 do not have: `helm upgrade --reuse-values` brings theirs without it. */}}
{{- define "agent.port" -}}
{{- dig "ports" (index . 1) (index . 2) (index . 0).Values.draDriver | int }}
{{- end }}

{{- define "agent.healthPort" -}}{{ include "agent.port" (list . "healthcheck" 51515) }}{{- end }}
{{- define "agent.metricsPort" -}}{{ include "agent.port" (list . "metrics" 51516) }}{{- end }}

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

{{/* The devices of a claim for one device of any kind, in that version. */}}
{{- define "agent.oneDevice" -}}
devices:
  requests:
  - name: neuron
  {{- if eq (include "agent.resourceVersion" .) "v1beta1" }}
    deviceClassName: neuron.aws.com
  {{- else }}
    exactly:
      deviceClassName: neuron.aws.com
  {{- end }}
{{- end }}

{{/* The release that an object of the cluster belongs to, as "NAME in namespace NAMESPACE"; empty: no object, no release,
or this one. `helm template` finds no object. Takes a list: the context, apiVersion, kind, namespace, name. */}}
{{- define "agent.otherOwner" -}}
{{- $root := index . 0 }}
{{- $marks := dig "metadata" "annotations" dict (lookup (index . 1) (index . 2) (index . 3) (index . 4)) }}
{{- $name := get $marks "meta.helm.sh/release-name" }}
{{- $namespace := get $marks "meta.helm.sh/release-namespace" }}
{{- if and $name (not (and (eq $name $root.Release.Name) (eq $namespace $root.Release.Namespace))) -}}
{{ $name }} in namespace {{ $namespace }}
{{- end }}
{{- end }}

{{/* "yes" when this release makes an object that another may have made before it: the object is not there, or is its own.
Takes a list: the context, apiVersion, kind, name. */}}
{{- define "agent.makes" -}}
{{- $there := lookup (index . 1) (index . 2) "" (index . 3) }}
{{- $marks := dig "metadata" "annotations" dict $there }}
{{- $root := index . 0 }}
{{- if or (empty $there) (and (eq (get $marks "meta.helm.sh/release-name") $root.Release.Name)
  (eq (get $marks "meta.helm.sh/release-namespace") $root.Release.Namespace)) }}yes{{ end }}
{{- end }}

{{/* Variables that the chart sets, or leaves to a value: variable -> value. The flag of CDI_ROOT is --cdi-root. */}}
{{- define "agent.ownVariables" -}}
NODE_NAME: ""
POD_UID: ""
CDI_ROOT: hostPaths.cdi
KUBELET_REGISTRAR_DIRECTORY_PATH: hostPaths.kubelet
KUBELET_PLUGINS_DIRECTORY_PATH: hostPaths.kubelet
KUBELET_DEVICE_PLUGINS_DIRECTORY_PATH: hostPaths.devicePlugins
KUBELET_STATE_FILE: kubeletState.enabled
DEV_ROOT: hostPaths.dev
SYSFS_ROOT: hostPaths.sysfs
NEURON_CONFIG_DIRECTORY_PATH: hostPaths.neuron
HEALTHCHECK_PORT: ports.healthcheck
METRICS_PORT: ports.metrics
TLS_MIN_VERSION: tlsMinVersion
CLAIM_STATUS: claimStatus
DEVICE_METADATA: deviceMetadata
DEVICE_METRICS: deviceMetrics
NEURON_MONITOR_METRICS: neuronMonitorMetrics
CHECK_DEVICE_MEMORY: checkDeviceMemory
MEMORY_HELD_TAINT: memoryHeldTaint
REQUIRE_CONSECUTIVE: requireConsecutive
SHARE_CORES: shareCores
EFA: efa.enabled
EFA_DRIVER_NAME: efa.driverName
EFA_SHARE: efa.share
EFA_NODE_RESOURCES: efa.nodeResources
{{- end }}

{{/* The flags of extraArgs as variables, so that commands in the pod, which do not have its arguments, read the same settings.
A flag without a value is a switch; of a repeated flag the last one counts. Refuses what the agent would refuse. */}}
{{- define "agent.argumentVariables" -}}
{{- $variables := fromYaml (.Files.Get "files/flags.yaml") }}
{{- $given := dict }}
{{- $open := "" }}
{{- range .Values.draDriver.extraArgs }}
{{- if hasPrefix "--" . }}
{{- $flag := regexFind "^--[^=]*" . }}
{{- if not (hasKey $variables $flag) }}
{{- fail (printf "draDriver.extraArgs: %s is no flag of the agent's command run; see `neuron-dra-agent run --help`" $flag) }}
{{- end }}
{{- $open = ternary "" $flag (contains "=" .) }}
{{- $_ := set $given (get $variables $flag) (ternary (trimPrefix (printf "%s=" $flag) .) "true" (contains "=" .)) }}
{{- else if hasPrefix "-v" . }}
{{- $open = ternary "-v" "" (eq . "-v") }}
{{- else if not $open }}
{{- fail (printf "draDriver.extraArgs: %s is no flag: the chart gives the agent its command" .) }}
{{- else }}
{{- if ne $open "-v" }}
{{- $_ := set $given (get $variables $open) . }}
{{- end }}
{{- $open = "" }}
{{- end }}
{{- end }}
{{- toYaml $given }}
{{- end }}

{{/* Refuses a misspelt draDriver: what else stands at the top level is AWS's, and counts as switched off. */}}
{{- define "agent.topLevel" -}}
{{- range $key := keys .Values | sortAlpha }}
{{- if and (ne $key "draDriver") (regexMatch "(?i)^(dra.*|d[a-z]{0,3}[-_]?drivers?)$" $key) }}
{{- fail (printf "%s is no value of this chart: its values are below draDriver" $key) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Refuses what no schema can: a setting that is given twice, one port for two services, an object of another release. */}}
{{- define "agent.checks" -}}
{{- $root := . }}
{{- $d := .Values.draDriver }}
{{- if eq (include "agent.healthPort" .) (include "agent.metricsPort" .) }}
{{- fail (printf "draDriver.ports: healthcheck and metrics are both %s: give each service a port of its own" (include "agent.metricsPort" .)) }}
{{- end }}
{{- range ternary (list "neuron.aws.com" $d.efa.driverName) (list "neuron.aws.com") (default false $d.efa.enabled) }}
{{- $bytes := add (len $d.hostPaths.kubelet) (len "/plugins_registry/") (len .) (len "-01234567-89ab-cdef-0123-456789abcdef-reg.sock") }}
{{- if gt $bytes 107 }}
{{- fail (printf "draDriver.hostPaths.kubelet: the registration socket of the driver %s has a path of %d bytes there, and 107 is the limit of unix sockets: give a shorter directory" . $bytes) }}
{{- end }}
{{- end }}
{{- range $variable, $value := fromYaml (include "agent.ownVariables" .) }}
{{- $instead := ternary (printf "set draDriver.%s instead" $value) "no value changes it" (ne $value "") }}
{{- range $d.extraEnv }}
{{- if eq .name $variable }}
{{- fail (printf "draDriver.extraEnv: the chart sets %s itself: %s" $variable $instead) }}
{{- end }}
{{- end }}
{{- $flag := printf "--%s" ($variable | lower | replace "_" "-") }}
{{- range $d.extraArgs }}
{{- if or (eq . $flag) (hasPrefix (printf "%s=" $flag) .) }}
{{- fail (printf "draDriver.extraArgs: the chart sets %s itself, as the variable %s: %s" $flag $variable $instead) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $variable, $value := fromYaml (include "agent.argumentVariables" .) }}
{{- range $d.extraEnv }}
{{- if eq .name $variable }}
{{- fail (printf "draDriver.extraEnv: %s is set by draDriver.extraArgs too: give one of the two" $variable) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $d.updateStrategy (eq (toString (dig "rollingUpdate" "maxUnavailable" "" $d.updateStrategy)) "0") (eq (toString (dig "rollingUpdate" "maxSurge" "0" $d.updateStrategy)) "0") }}
{{- fail "draDriver.updateStrategy: maxSurge and maxUnavailable are both 0, with which no pod is ever updated: give one of the two" }}
{{- end }}
{{- if eq $d.efa.driverName "neuron.aws.com" }}
{{- fail "draDriver.efa.driverName: neuron.aws.com is the driver of the Neuron devices: give the EFA driver another name" }}
{{- end }}
{{- $name := include "agent.name" . }}
{{- $namespace := include "agent.namespace" . }}
{{- $objects := list
  (list "apps/v1" "DaemonSet" $namespace (include "agent.fullname" .))
  (list "rbac.authorization.k8s.io/v1" "ClusterRole" "" (printf "%s-clusterrole" $name))
  (list "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" (printf "%s-binding" $name)) }}
{{- if $d.serviceAccount.create }}
{{- $objects = append $objects (list "v1" "ServiceAccount" $namespace (include "agent.account" .)) }}
{{- end }}
{{- range $objects }}
{{- $owner := include "agent.otherOwner" (prepend . $root) }}
{{- if $owner }}
{{- fail (printf "%s %s belongs to the release %s: a second release needs names and nodes of its own: --set draDriver.nameOverride=,draDriver.fullnameOverride=,draDriver.namespaceOverride=,draDriver.serviceAccount.name= takes all names from the release; draDriver.nodeSelector chooses its nodes" (index . 1) (index . 3) $owner) }}
{{- end }}
{{- end }}
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
{{- $image := .Values.draDriver.image }}
{{- $name := $image.repository }}
{{- with $image.tag | default (ternary .Chart.AppVersion "" (empty $image.digest)) }}{{ $name = printf "%s:%s" $name . }}{{ end }}
{{- with $image.digest }}{{ $name = printf "%s@%s" $name . }}{{ end -}}
image: {{ $name | quote }}
imagePullPolicy: {{ $image.pullPolicy }}
{{- end }}

{{/* Security context of a container that opens nothing of the node. */}}
{{- define "agent.anyUser" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end }}
