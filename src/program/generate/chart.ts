import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { fieldsOf } from '../../controllers/fields.ts';
import { alertRules } from './alerts.ts';
import type { Built } from './built.ts';
import { documents, manifest, type Files } from './files.ts';
import { operatorObjects, type Fill, type OperatorParts } from './operator-objects.ts';
import { chartValues } from './values.ts';

/** What an operator is installed as. */
export interface Installed extends Omit<OperatorParts, 'namespace'> {
  /** Its CustomResourceDefinitions. */
  readonly definitions: readonly { readonly metadata: { readonly annotations?: object } }[];
  /** The roles of people. */
  readonly roles: readonly object[];
}

/** For `kubectl apply`: everything, with the values of the chart as they are. */
export function installManifest(installed: Installed): string {
  const { built, definitions, roles } = installed;
  const namespace = `${built.name}-system`;
  return manifest(
    namespaceObject(namespace),
    ...definitions,
    ...roles,
    ...operatorObjects({ ...installed, namespace }, withValues(parse(chartValues(built)))),
  );
}

/** Pod Security rejects Pods there that ask for more than the operator's. */
function namespaceObject(name: string): object {
  const labels = Object.fromEntries(
    ['enforce', 'warn', 'audit'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
  );
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

function withValues(values: unknown): Fill {
  const one = (path: string) => path.split('.').reduce((value: unknown, key) => fieldsOf(value)[key], values);
  return { one, each: (path) => z.array(z.unknown()).parse(one(path)) };
}

/** JSON is YAML, so a value of any type fits wherever it is filled in. */
const BY_HELM: Fill = {
  one: (path) => `{{ toJson .Values.${path} }}`,
  each: (path) => [`{{ each .Values.${path} }}`],
};

/** The same as a chart. */
export function chart(installed: Installed): Files {
  const { built, definitions, roles } = installed;
  const namespace = '{{ toJson .Release.Namespace }}';
  const objects = [...roles, ...operatorObjects({ ...installed, namespace }, BY_HELM)];
  return new Map([
    ['chart/Chart.yaml', chartYaml(built)],
    ['chart/values.yaml', chartValues(built)],
    ['chart/templates/crds.yaml', only('crds', literal(documents(definitions.map(kept))))],
    ['chart/templates/operator.yaml', asTemplate(documents(objects))],
    ['chart/templates/monitoring.yaml', only('monitoring', literal(documents(monitoring(built))))],
  ]);
}

function chartYaml({ name, version }: Built): string {
  const about = { apiVersion: 'v2', name, type: 'application', version, appVersion: version };
  return stringify({ ...about, kubeVersion: '>=1.30.0-0' });
}

function only(value: string, text: string): string {
  return `{{- if .Values.${value} }}\n${text}{{- end }}\n`;
}

/** An author's texts have braces of their own, and so has Prometheus. */
function literal(text: string): string {
  return text.replaceAll('{{', '{{ "{{" }}');
}

/** What is filled in stands without quotes, and a list of it without a dash. */
function asTemplate(text: string): string {
  return text
    .replaceAll(/'(\{\{ toJson .* \}\})'/g, '$1')
    .replaceAll(/^( *)- '\{\{ each (.*) \}\}'$/gm, (_, indent: string, list: string) =>
      [
        `${indent}{{- with ${list} }}`,
        `${indent}{{- toYaml . | nindent ${indent.length} }}`,
        `${indent}{{- end }}`,
      ].join('\n'),
    );
}

/** Stays when the release is removed: with a definition, Kubernetes deletes all resources of its kind. */
export function kept<T extends { readonly metadata: { readonly annotations?: object } }>(definition: T): T {
  const annotations = { ...definition.metadata.annotations, 'helm.sh/resource-policy': 'keep' };
  return { ...definition, metadata: { ...definition.metadata, annotations } };
}

/** For the Prometheus operator. */
export function monitoring({ name }: Built): object[] {
  const metadata = { name, labels: { 'app.kubernetes.io/name': name } };
  const apiVersion = 'monitoring.coreos.com/v1';
  return [
    {
      ...{ apiVersion, kind: 'PodMonitor', metadata },
      spec: { selector: { matchLabels: metadata.labels }, podMetricsEndpoints: [{ port: 'metrics' }] },
    },
    { apiVersion, kind: 'PrometheusRule', metadata, spec: alertRules({ command: name }) },
  ];
}
