import { execFile } from 'node:child_process';

export interface Question {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** What the program prints for a person who asks. @throws Error where it cannot answer: its exit status is 2 */
export function answerOf(program: string, { args, env }: Question): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [program, ...args], { env }, (error, stdout, stderr) => {
      // 1: the resource is not in its desired state.
      if (error === null || error.code === 1) resolve(stdout);
      else reject(new Error(`${args.join(' ')}: ${stderr}`, { cause: error }));
    });
  });
}
