import { SILENT, type EndedNeed, type RequestAbout, type Telemetry } from '../../src/contract/telemetry.ts';

/** Keeps what it is told, one line each. */
export function aRecordingTelemetry() {
  const told: string[] = [];
  const needs: EndedNeed[] = [];
  const requests: RequestAbout[] = [];
  const about = (event: string) => (key: string) => {
    told.push(`${event} ${key.split('/')[2] ?? key}`);
  };
  const telemetry: Telemetry = {
    ...SILENT,
    queue: {
      added: about('added'),
      begun: about('begun'),
      done: about('done'),
      retried: about('retried'),
      emptied: () => told.push('emptied'),
    },
    watch: ({ resource }) => ({
      created: (ageSeconds) => told.push(`${resource} created ${ageSeconds < 60 ? 'now' : 'long ago'}`),
      ended: (how) => told.push(`${resource} ${how}`),
    }),
    needEnded: (need) => needs.push(need),
    request(request) {
      requests.push(request);
      return {
        answered: (status) => told.push(`answered ${status}`),
        failed: () => told.push('no answer'),
      };
    },
  };
  return { ...telemetry, told, needs, requests };
}
