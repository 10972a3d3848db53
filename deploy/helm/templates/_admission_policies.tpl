{{/* Its name. Empty where there is none: it is of no use without the controller that writes RoleBindings. */}}
{{- define "operator.roleBindingPolicy" -}}
{{- if and .Values.admissionPolicies.roleBindings (has "namespace-role-binding" (include "operator.controllers" . | fromYamlArray)) -}}
{{ include "operator.nameOf" (dict "root" . "name" "role-bindings") }}
{{- end }}
{{- end }}

{{/* The same, with the controllers that change Pods. */}}
{{- define "operator.podPolicy" -}}
{{- $controllers := include "operator.controllers" . | fromYamlArray }}
{{- if and .Values.admissionPolicies.pods (or (has "pod-label" $controllers) (has "pod-set" $controllers)) -}}
{{ include "operator.nameOf" (dict "root" . "name" "pods") }}
{{- end }}
{{- end }}

{{/* The same, with the controllers that ask for approval before they delete something: pod-label deletes nothing. */}}
{{- define "operator.approvalPolicy" -}}
{{- if and .Values.admissionPolicies.approvals (without (include "operator.controllers" . | fromYamlArray) "pod-label") -}}
{{ include "operator.nameOf" (dict "root" . "name" "approvals") }}
{{- end }}
{{- end }}

{{/* Empty where there is no policy at all. */}}
{{- define "operator.policies" -}}
{{ include "operator.roleBindingPolicy" . }}{{ include "operator.podPolicy" . }}{{ include "operator.approvalPolicy" . }}
{{- end }}

{{/* The process that writes. */}}
{{- define "operator.workingProcess" -}}
{{ include "operator.processes" . | fromYamlArray | last }}
{{- end }}

{{/* What marks the ClusterRoleBinding whose accounts the policies are about. */}}
{{- define "operator.policyLabel" -}}
durable-operator.dev/admission-policy: {{ include "operator.fullname" . | quote }}
{{- end }}

{{/* The requirements of roleBinding.namespaceSelector, one shape for all: a list of key, operator and values. */}}
{{- define "operator.namespaceRequirements" -}}
{{- $requirements := list }}
{{- range $key, $value := .Values.roleBinding.namespaceSelector.matchLabels }}
{{- $requirements = append $requirements (dict "key" $key "operator" "In" "values" (list $value)) }}
{{- end }}
{{- concat $requirements (.Values.roleBinding.namespaceSelector.matchExpressions | default list) | toJson }}
{{- end }}

{{/* As the option --namespace-selector takes it. */}}
{{- define "operator.namespaceSelector" -}}
{{- $terms := list }}
{{- range (include "operator.namespaceRequirements" . | fromJsonArray) }}
{{- if eq .operator "Exists" }}
{{- $terms = append $terms .key }}
{{- else if eq .operator "DoesNotExist" }}
{{- $terms = append $terms (printf "!%s" .key) }}
{{- else if eq (len .values) 1 }}
{{- $terms = append $terms (printf "%s%s%s" .key (ternary "=" "!=" (eq .operator "In")) (first .values)) }}
{{- else }}
{{- $terms = append $terms (printf "%s %s (%s)" .key (lower .operator) (join "," .values)) }}
{{- end }}
{{- end }}
{{- join "," $terms }}
{{- end }}

{{/* The same as an expression of the policy for RoleBindings. */}}
{{- define "operator.namespaceSelected" -}}
{{- $terms := list }}
{{- range (include "operator.namespaceRequirements" . | fromJsonArray) }}
{{- $label := printf "namespaceObject.metadata.?labels[?%s]" (toJson .key) }}
{{- $holds := printf "%s.hasValue()" $label }}
{{- if has .operator (list "In" "NotIn") }}
{{- $holds = printf "%s.optMap(value, value in %s).orValue(false)" $label (toJson .values) }}
{{- end }}
{{- $terms = append $terms (ternary $holds (printf "!%s" $holds) (has .operator (list "In" "Exists"))) }}
{{- end }}
{{- join " && " $terms | default "true" }}
{{- end }}

{{/* Whether an object is in one of the namespaces, or is one of them: an expression of the policy for approvals. */}}
{{- define "operator.inNamespaces" -}}
{{- with .Values.namespaces -}}
(request.resource.resource == "namespaces" ? object.metadata.name : request.namespace) in {{ toJson . }}
{{- else -}}
true
{{- end }}
{{- end }}
