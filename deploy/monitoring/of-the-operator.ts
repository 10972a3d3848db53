/**
 * Those series that are the operator's: other programs have metrics of the same names where they use controller-runtime,
 * client-go or prom-client.
 *
 * @param expr PromQL whose series have the labels `namespace` and `job`, which are those of the ServiceMonitor
 */
export function ofTheOperator(expr: string): string {
  return `${expr} and on (namespace, job) durable_operator_build_info`;
}
