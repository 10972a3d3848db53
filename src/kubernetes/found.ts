import { ApiError } from './errors.ts';

/** The object, or undefined where the server says that this very object is not there. @throws ApiError */
export async function found<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && error.classification === 'not-found') return undefined;
    throw error;
  }
}
