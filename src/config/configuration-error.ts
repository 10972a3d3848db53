/** The configuration is invalid, and waiting would not help; the message is one line and says what to do. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}
