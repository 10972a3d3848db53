import type { Logger } from '../api/logger.ts';
import { redacted } from '../api/redacted.ts';
import type { CredentialsOptions } from '../kubernetes/sessions.ts';
import type { Lifecycle } from './lifecycle.ts';

/** Where a person sees why there are no credentials for the API server. */
export function reportingCredentials(lifecycle: Lifecycle, log: Logger): CredentialsOptions {
  let said: string | undefined;
  return {
    onPluginOutput: (line) => log.warn({}, `exec plugin: ${redacted(line)}`),
    onCredentials(problem) {
      lifecycle.credentials(problem && `API server: ${problem}`);
      if (problem === said) return;
      if (problem === undefined) log.info({}, 'there are credentials for the API server again');
      else log.warn({}, `API server: ${problem}; retrying`);
      said = problem;
    },
  };
}
