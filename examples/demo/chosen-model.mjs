/** Returns the model that the environment names by a key or an address, or null: the scripted model answers. */
export function modelFromEnvironment(env) {
  const name = env.WRIT_DEMO_MODEL;
  if (env.ANTHROPIC_API_KEY) {
    const url = env.ANTHROPIC_BASE_URL;
    return { kind: "anthropic", name: name ?? "claude-sonnet-4-5", ...(url && { url }), key: env.ANTHROPIC_API_KEY };
  }
  if (env.OPENAI_API_KEY) {
    const url = env.OPENAI_BASE_URL;
    return { kind: "openai", name: name ?? "gpt-4.1-mini", ...(url && { url }), key: env.OPENAI_API_KEY };
  }
  return null;
}
