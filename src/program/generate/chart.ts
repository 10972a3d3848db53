import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { fieldsOf } from '../../api/fields.ts';
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
  return {
    one,
    each: (path) => z.array(z.unknown()).parse(one(path)),
    merged: (path, more) => ({ ...fieldsOf(one(path)), ...more }),
  };
}

/** JSON is YAML, so a value of any type fits wherever it is filled in. */
const BY_HELM: Fill = {
  one: (path) => `{{ toJson .Values.${path} }}`,
  each: (path) => [`{{ each .Values.${path} }}`],
  // A label that selects the Pods stays.
  merged: (path, more) => `{{ toJson (merge (fromJson \`${JSON.stringify(more)}\`) .Values.${path}) }}`,
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
    ['chart/templates/monitoring.yaml', only('serviceMonitor.enabled', monitoringTemplate(built))],
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

/** For the Prometheus operator. @param labels of what it selects by labels */
export function monitoring({ name }: Built, labels: unknown = labelsOf(name)): object[] {
  const own = labelsOf(name);
  const metadata = { name, labels };
  const apiVersion = 'monitoring.coreos.com/v1';
  const ports = [{ name: 'metrics', port: 9097, targetPort: 'metrics' }];
  return [
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: `${name}-metrics`, labels: own } },
      spec: { clusterIP: 'None', selector: own, ports },
    },
    {
      ...{ apiVersion, kind: 'ServiceMonitor', metadata },
      spec: { selector: { matchLabels: own }, endpoints: [{ port: 'metrics' }] },
    },
    { apiVersion, kind: 'PrometheusRule', metadata, spec: alertRules({ command: name }) },
  ];
}

function labelsOf(name: string): object {
  return { 'app.kubernetes.io/name': name };
}

/** The braces of the alerts are literal, those of the labels are not. */
function monitoringTemplate(built: Built): string {
  const labels = BY_HELM.merged('serviceMonitor.labels', labelsOf(built.name)) as string;
  return literal(documents(monitoring(built, PLACEHOLDER))).replaceAll(PLACEHOLDER, labels);
}

const PLACEHOLDER = 'MONITORING_LABELS';
