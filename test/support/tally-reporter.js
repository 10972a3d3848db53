import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import process from 'node:process';
import { stripVTControlCharacters } from 'node:util';

/**
 * Appends a line of JSON for each test file to the file that TEST_TALLY names; .ci/ reads it. A suite that did not run
 * counts as a failure.
 */
export default class TallyReporter {
  onRunComplete(_, { testResults }) {
    const file = process.env.TEST_TALLY;
    if (file) appendFileSync(file, testResults.map((each) => `${JSON.stringify(lineOf(each))}\n`).join(''));
  }
}

function lineOf({ testFilePath, numPassingTests, numFailingTests, testExecError, testResults }) {
  const messages = testResults.flatMap(({ failureMessages }) => failureMessages);
  const [why = testExecError?.message ?? ''] = messages;
  return {
    path: relative('.', testFilePath),
    passed: numPassingTests,
    failed: numFailingTests + (testExecError ? 1 : 0),
    why: stripVTControlCharacters(why).trim().split('\n')[0],
  };
}
