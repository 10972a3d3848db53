import { SILENT, type EndedRequest, type RequestAbout, type Telemetry } from '../../src/runs/telemetry.ts';

/** Keeps what it observes, one line each. */
export function aRecordingTelemetry() {
  const told: string[] = [];
  const endedRequests: EndedRequest[] = [];
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
    requestEnded: (request) => endedRequests.push(request),
    request(request) {
      requests.push(request);
      return {
        answered: (status) => told.push(`answered ${status}`),
        failed: () => told.push('no answer'),
      };
    },
    requestFailed: (meaning) => told.push(`error: ${meaning}`),
  };
  return { ...telemetry, told, endedRequests, requests };
}
